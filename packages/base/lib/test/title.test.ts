import { performance } from "node:perf_hooks";
import { titleFrom } from "@aegis/lib/title.ts";
import { describe, expect, it } from "vitest";

describe("a title from a text", () => {
  it.each([
    ["Fix the login form", "Fix the login form"],
    ["\n\n# Fix the **login** form\n\nIt fails on `Enter`.", "Fix the login form"],
    ["1. Rename [the parser](https://example.com/x) to `read_all`", "Rename the parser to read_all"],
    ["- [ ] write tests", "write tests"],
    ["> quoted first\nand then", "quoted first"],
    ["```ts\nconst a = 1;\n```\nExplain this code", "Explain this code"],
    ["```\nonly code\n```", "only code"],
    ["<!-- a note -->\n<task>Do it now</task>", "Do it now"],
    ["Hello,\n\nplease translate the README", "please translate the README"],
    ["hi", "hi"],
    ["objective: Should the parser read comments?", "Should the parser read comments?"],
    ["Task:\nfix it", "Task:"],
    ["---\n\n***\n", ""],
    ['"Say it"', "Say it"],
    ["a\u202Eb\u200Bc \u0007d", "abc d"],
    ["keep snake_case_name and 2 * 3 * 4", "keep snake_case_name and 2 * 3 * 4"],
  ])("%j", (text, title) => {
    expect(titleFrom(text)).toBe(title);
  });

  it("is at most 60 characters long and ends at a sentence or a word", () => {
    const long = "Count the TODOs in this project and tell me where they are, please";
    expect(titleFrom(long)).toBe("Count the TODOs in this project and tell me where they are…");
    expect(titleFrom("Fix the build. Then run every test of the project and report each failure.")).toBe(
      "Fix the build",
    );
    expect(titleFrom("x".repeat(500))).toHaveLength(60);
    expect(titleFrom("😀".repeat(100)).isWellFormed()).toBe(true);
  });

  it.each([
    "deploy with sk-ant-REDACTED now",
    "use password=Correct5Horse today",
    "use token: ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "clone https://joe:Correct5Horse@example.com/repo.git",
    "sign with 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c",
  ])("hides what looks like a secret: %s", (text) => {
    expect(titleFrom(text)).not.toMatch(/Correct5Horse|api03|ghp_abc|9f86d0/);
  });

  it("is found in linear time", () => {
    const started = performance.now();
    for (const part of ["[", "<!--", "**a ", "`", "> ", "_a", "a="]) titleFrom(part.repeat(500_000));
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});
