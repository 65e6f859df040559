import { expect, it } from "vitest";
import { parsePlan } from "../src/plan.ts";

it("reads slices whatever dash they use, with their text, and leaves code alone", () => {
  const text = [
    "# Plan",
    "intro",
    "## Slice 1 — the parser",
    "do it",
    "```md",
    "## Slice 9 — in code",
    "```",
    "### part",
    "more",
    "## Slice 2: tests",
    "## Slice 3",
    "last",
    "## Notes",
    "not a slice",
  ].join("\n");
  expect(parsePlan(text, "plan.md")).toEqual([
    { number: 1, title: "the parser", body: "do it\n```md\n## Slice 9 — in code\n```\n### part\nmore" },
    { number: 2, title: "tests", body: "" },
    { number: 3, title: "slice 3", body: "last" },
  ]);
});

it("says what is wrong with a plan, and where", () => {
  expect(() => parsePlan("# nothing", "plan.md")).toThrow(
    'plan.md has no slices: expected headings such as "## Slice 1',
  );
  expect(() => parsePlan("## Slice 1 — a\n\n## Slice 1 — b", "plan.md")).toThrow(
    "plan.md:3: slice 1 was declared before, at line 1",
  );
});
