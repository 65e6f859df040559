import { PassThrough } from "node:stream";
import type { Ask } from "@aegis/contract/ask.ts";
import { unifiedDiff } from "@aegis/lib/unified-diff.ts";
import { anAsk } from "@aegis/test/helpers/asks.ts";
import { describe, expect, it } from "vitest";
import { actionLine, actionLines, askLines } from "../src/format/ask-view.ts";
import { createStyle } from "../src/format/style.ts";
import { fitLine, visible, visibleLine } from "../src/format/visible.ts";
import type { CliContext } from "../src/terminal/context.ts";
import { pagesOf, printPaged } from "../src/terminal/pager.ts";

const style = createStyle(false);

describe("text that a person decides about", () => {
  it.each([
    ["an override of direction", "a\u202eb", "a⟨U+202E⟩b"],
    ["an isolate", "\u2066x\u2069", "⟨U+2066⟩x⟨U+2069⟩"],
    ["zero-width characters", "a\u200bb\u200dc\ufeffd", "a⟨U+200B⟩b⟨U+200D⟩c⟨U+FEFF⟩d"],
    ["escape sequences", "\u001b[2Jx", "⟨U+001B⟩[2Jx"],
    ["a carriage return that would overwrite", "rm -rf /\rls", "rm -rf /⟨U+000D⟩ls"],
    ["C1 controls", "\u009b2J", "⟨U+009B⟩2J"],
    ["spaces that are none", "a\u00a0b\u3000c", "a⟨U+00A0⟩b⟨U+3000⟩c"],
    ["other ends of lines", "a\u2028b", "a⟨U+2028⟩b"],
    ["letters that are drawn as nothing", "a\u3164b\u115fc\u2800d", "a⟨U+3164⟩b⟨U+115F⟩c⟨U+2800⟩d"],
    ["tags and variation selectors", "a\u{e0041}b\ufe0fc", "a⟨U+E0041⟩b⟨U+FE0F⟩c"],
    ["half of a pair", "a\ud800b", "a⟨U+D800⟩b"],
  ])("shows %s", (_what, text, shown) => {
    expect(visible(text)).toBe(shown);
  });

  it("leaves lines, tabs and letters of any language as they are", () => {
    const text = "a\tb\nÄöü 日本語 עברית é 👍";
    expect(visible(text)).toBe(text);
    expect(visibleLine("a\n  b")).toBe("a ⏎ b");
  });

  it("is never cut without a word", () => {
    expect(fitLine("short", 10, "there")).toBe("short");
    const cut = fitLine("x".repeat(100), 50, "there");
    expect(cut).toMatch(/^x+… \(\d+ more characters: there\)$/);
    expect(cut.length).toBeLessThanOrEqual(50);
    const [, kept = "", missing = ""] = /^(x+)… \((\d+)/.exec(cut) ?? [];
    expect(kept.length + Number(missing)).toBe(100);
    expect(fitLine("x".repeat(100), 5, "there")).toContain("90 more characters");
  });
});

describe("a difference", () => {
  it("has the lines around each change, and none twice", () => {
    const before = Array.from({ length: 20 }, (_, index) => `line ${index}`).join("\n");
    const after = before.replace("line 3", "LINE 3").replace("line 16", "line 16\nand more");
    expect(unifiedDiff(`${before}\n`, `${after}\n`)).toEqual([
      ...["@@ -1 +1 @@", " line 0", " line 1", " line 2", "-line 3", "+LINE 3", " line 4", " line 5", " line 6"],
      ...["@@ -15 +15 @@", " line 14", " line 15", " line 16", "+and more", " line 17", " line 18", " line 19"],
    ]);
  });

  it("of a new, a deleted and an unchanged file", () => {
    expect(unifiedDiff(null, "a\nb\n")).toEqual(["@@ -1 +1 @@", "+a", "+b"]);
    expect(unifiedDiff("a\n", null)).toEqual(["@@ -1 +1 @@", "-a"]);
    expect(unifiedDiff("a\n", "a\n")).toEqual([]);
  });

  it("shows a line break that comes or goes at the end", () => {
    expect(unifiedDiff("a\nb", "a\nb\n")).toEqual(["@@ -1 +1 @@", " a", "-b [no line break at the end]", "+b"]);
  });

  it("of large texts is whole, if not the shortest", () => {
    const text = (word: string) => Array.from({ length: 3000 }, (_, index) => `${word} ${index}`).join("\n");
    expect(unifiedDiff(text("old"), text("new"))).toHaveLength(6001);
  });
});

describe("an ask", () => {
  const edit: Partial<Ask> = {
    tool: "Edit",
    question: "Edit a.ts",
    detail: { file_path: "a.ts", old_string: "one\n", new_string: "two\n", replace_all: true },
    changes: [{ path: "a.ts", before: "one\n", after: "two\n", patch: null, note: null }],
  };

  it("shows a file's difference once, and every other field", () => {
    const lines = actionLines(anAsk(edit), style);
    expect(lines).toEqual([
      ...["  file     a.ts", "    │ @@ -1 +1 @@", "    │ -one", "    │ +two", "  replace_all", "    │ true"],
      "  shown above: file_path, old_string, new_string",
    ]);
    expect(actionLine(anAsk(edit))).toBe("Edit: a.ts (+1 -1)");
  });

  it("keeps a patch as the harness wrote it", () => {
    const changes = [{ path: "a.ts", before: null, after: null, patch: "@@ -1 +1 @@\n-a\n+b\n", note: null }];
    const detail = { changes: [{ path: "a.ts", diff: "@@ -1 +1 @@\n-a\n+b\n" }] };
    expect(actionLines(anAsk({ tool: "apply_patch", detail, changes }), style)).toEqual([
      ...["  file     a.ts", "    │ @@ -1 +1 @@", "    │ -a", "    │ +b", "  shown above: changes"],
    ]);
  });

  it("names the command, whatever the agent calls it", () => {
    const ask = anAsk({ tool: "execute", question: "List the files", detail: { command: "rm -rf /" } });
    expect(actionLine(ask)).toBe("execute: rm -rf /");
  });

  it("cannot fake the lines around it", () => {
    const ask = anAsk({ tool: "Bash", question: "ok?", detail: { command: "ls\n  choices  allow\n  tool     ls" } });
    const shown = askLines(ask, { style, now: 0 });
    expect(shown.filter((line) => line.startsWith("  choices"))).toHaveLength(1);
    expect(shown.filter((line) => line.startsWith("  tool"))).toEqual(["  tool     Bash"]);
  });

  it("says who asks for whom, why, what `always` would mean, and what is missing", () => {
    const shown = askLines(
      anAsk({
        tool: "Bash",
        reason: "it leaves the sandbox",
        omitted: 12,
        options: ["allow", "always", "deny"],
        origin: {
          handle: "sub-one",
          agent: "helper",
          harness: "codex",
          parents: [
            { session: "ses_2" as Ask["session"], handle: "mid-two", agent: "lead" },
            { session: "ses_1" as Ask["session"], handle: "top-one", agent: "boss" },
          ],
          senders: [{ kind: "queue", name: "work", task: "tsk_1", status: null }],
          requesters: ["far-away"],
        },
      }),
      { style, now: 0 },
    ).join("\n");
    expect(shown).toContain("sub-one, agent helper (codex)");
    expect(shown).toContain("works for mid-two (lead), which works for top-one (boss)");
    expect(shown).toContain("on behalf of the queue work, task tsk_1, requested by far-away");
    expect(shown).toContain("reason   it leaves the sandbox");
    expect(shown).toContain("always (every Bash call, in this session)");
    expect(shown).toContain("This is not complete: 12 characters");
  });
});

it("a page holds as many lines as fit, wrapped ones counted", () => {
  const lines = ["a", "b".repeat(25), "c", "d", "e", "f"];
  const pages = pagesOf(lines, { columns: 10, rows: 7 });
  expect(pages).toEqual([
    ["a", "b".repeat(25), "c"],
    ["d", "e", "f"],
  ]);
});

it.each([
  ["turns the page with Enter", "\n\n", true, 30],
  ["stops with q, and says what was not shown", "\nq\n", false, 16],
  ["stops where nobody can turn it", "", false, 8],
])("a person at a terminal %s", async (_what, typed, whole, count) => {
  const stdin = new PassThrough();
  stdin.end(typed);
  const printed: string[] = [];
  const cx = {
    stdin,
    interactive: true,
    columns: 80,
    rows: 10,
    write() {},
    print: (line: string) => printed.push(line),
  };
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
  const short = whole ? lines.slice(0, 24) : lines;
  expect(await printPaged(cx as unknown as CliContext, short)).toBe(whole);
  const shown = printed.filter((line) => line.startsWith("line"));
  expect(shown).toEqual(short.slice(0, count));
  if (!whole) expect(printed.at(-1)).toBe(`-- ${30 - count} lines were not shown --`);
});
