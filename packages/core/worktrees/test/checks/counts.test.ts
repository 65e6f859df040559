import { readFileSync } from "node:fs";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { expect, it } from "vitest";
import { testCounts } from "../../src/checks/counts.ts";

/** Outputs of the tools themselves. */
function sample(name: string): string {
  return readFileSync(new URL(`samples/${name}.txt`, import.meta.url), "utf8");
}

it.each([
  ["vitest", { format: "vitest", passed: 2, failed: 1, skipped: 2 }],
  ["jest", { format: "jest", passed: 2, failed: 1, skipped: 2 }],
  ["pytest", { format: "pytest", passed: 1, failed: 2, skipped: 2 }],
  ["pytest-quiet", { format: "pytest", passed: 1, failed: 2, skipped: 2 }],
  ["cargo", { format: "cargo", passed: 4, failed: 1, skipped: 1 }],
  ["go-v", { format: "go", passed: 3, failed: 1, skipped: 1 }],
  ["go-json", { format: "go", passed: 3, failed: 1, skipped: 1 }],
  ["tap-node", { format: "tap", passed: 2, failed: 1, skipped: 2 }],
  ["tap-vitest", { format: "tap", passed: 2, failed: 1, skipped: 2 }],
  ["junit-node", { format: "junit", passed: 2, failed: 1, skipped: 2 }],
  ["junit-vitest", { format: "junit", passed: 2, failed: 1, skipped: 2 }],
  ["junit-pytest", { format: "junit", passed: 1, failed: 2, skipped: 2 }],
])("reads the counts of %s", (name, counts) => {
  expect(testCounts(sample(name))).toEqual({ ...counts, partial: false });
});

it("knows that go names only what failed unless it is verbose", () => {
  expect(testCounts(sample("go"))).toEqual({ format: "go", passed: 0, failed: 1, skipped: 0, partial: true });
});

it("takes the last summary, because a test may print one", () => {
  const forged = `Tests:       9 passed, 9 total\n${sample("jest")}`;
  expect(testCounts(forged)).toMatchObject({ passed: 2, failed: 1 });
  expect(testCounts("===== 9 passed in 0.01s =====\n===== 1 failed, 1 passed in 0.02s =====")).toMatchObject({
    passed: 1,
    failed: 1,
  });
});

it("finds nothing in other output", () => {
  for (const text of ["", "all good", "Tests: fine", "ok", "PASS\n", "1 passed", "<html><body>testcase</body></html>"])
    expect(testCounts(text)).toBeNull();
});

it("is quick on a megabyte of anything", { tags: "slow" }, () => {
  const pieces = [
    "<testcase name='x'>",
    "<testcase <failure",
    "1 passed, ",
    "ok 1\n",
    "= ",
    "--- PASS: x\n",
    " ",
    " \n",
  ];
  const started = performance.now();
  for (const head of ["", "TAP version 13\n", "<testsuite>\n", "Test Files  1 passed\n", "Tests:  "])
    for (const piece of pieces) testCounts(`${head}${piece.repeat(1_000_000 / piece.length)}`);
  // A pattern with backtracking takes minutes.
  expect(performance.now() - started).toBeLessThan(scaled(15_000));
});
