import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { adjectives, handleCandidates, surnames } from "../src/handles.ts";

const tests = fileURLToPath(new URL("../../../../test", import.meta.url));

it("offers handles of two words first, then numbered ones without end", () => {
  const candidates = handleCandidates(() => 0);
  const first = Array.from({ length: 52 }, () => candidates.next().value);
  expect(first.slice(0, 50)).toEqual(Array.from({ length: 50 }, () => "agile-abel"));
  expect(first.slice(50)).toEqual(["agile-abel-2", "agile-abel-3"]);
});

// Another session of the same test may get a handle by chance: then the test fails once in some thousand runs.
it("makes no handle that a test chooses itself", () => {
  const made = new RegExp(`\\b(?:${adjectives.join("|")})-(?:${surnames.join("|")})\\b`);
  const files = readdirSync(tests, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.includes("node_modules"))
    .filter((file) => basename(file) !== "handles.test.ts");
  const clashes = files.flatMap((file) => made.exec(readFileSync(join(tests, file), "utf8"))?.[0] ?? []);
  expect(clashes).toEqual([]);
});
