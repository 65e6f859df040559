import { readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { eventsOf, runTurn } from "@aegis/test/helpers/turns.ts";
import { expect, test } from "vitest";
import { openScripted, type ScriptedSetup } from "./scripted-conversation.ts";

const files = {
  "src/a.ts": "// TODO one\n// TODO two TODO three\nconst todos = 1;\n",
  "src/deep/b.ts": "// TODO four\n",
  "README.md": "nothing open\nsee a.ts\n",
  "binary.bin": "TODO \0 a.ts",
  "node_modules/x/index.js": "// TODO hidden",
  ".git/config": "TODO hidden",
  ".aegis/state/daemon.json": "TODO hidden",
  ".aegis/agents/own.yaml": "harness: scripted\n",
  "dist/out.js": "// TODO hidden",
};

test("list_files leaves out what is not the project's own", async () => {
  const { output } = await callOnce({ files }, "list_files", {});
  expect(output.split("\n")).toEqual([
    "5 files",
    ".aegis/agents/own.yaml",
    "README.md",
    "binary.bin",
    "src/a.ts",
    "src/deep/b.ts",
  ]);
  expect((await callOnce({ files }, "list_files", { glob: "src/**/*.ts" })).output.split("\n")[0]).toBe(
    "2 files like src/**/*.ts",
  );
});

test("a long list says what it cut", async () => {
  const many = Object.fromEntries(Array.from({ length: 205 }, (_, i) => [`f${i}.txt`, ""]));
  const { output } = await callOnce({ files: many }, "list_files", {});
  expect(output.split("\n")[0]).toBe("205 files");
  expect(output.split("\n").at(-1)).toBe("(5 more are not shown)");
});

test("count_todos counts per file, most first, and not in binary files", async () => {
  const { output } = await callOnce({ files }, "count_todos", {});
  expect(output).toBe("4 todos in 2 files\n- src/a.ts: 3\n- src/deep/b.ts: 1");
});

test("grep shows path, line and text, and ignores case", async () => {
  const { output, kind } = await callOnce({ files }, "grep", { pattern: "Todo F" });
  expect(output).toBe("1 match in 1 file\nsrc/deep/b.ts:1: // TODO four");
  expect(kind).toBe("search");
});

test("grep says what was too large to look into", async () => {
  const large = { "big.txt": "x".repeat(1024 * 1024 + 1) };
  const { output } = await callOnce({ files: large }, "grep", { pattern: "zzz" });
  expect(output).toBe("0 matches in 0 files\n(files left out: 1 too large)");
});

test("read_file gives a text with its length, and its place to clients", async () => {
  const { output, locations } = await callOnce({ files }, "read_file", { path: "README.md" });
  expect(output).toBe("README.md, 2 lines:\nnothing open\nsee a.ts");
  expect(locations).toEqual([{ path: "README.md" }]);
});

test("write_report writes whole, and shows the difference", async () => {
  const { diff, is_error, dir } = await callOnce({ files }, "write_report", { path: "README.md", text: "new" });
  expect(is_error).toBe(false);
  expect(diff).toEqual({ path: "README.md", before: files["README.md"], after: "new" });
  expect(await readFile(join(dir, "README.md"), "utf8")).toBe("new");
});

test.each([
  ["read_file", { path: "../secret.txt" }, /outside the project/],
  ["read_file", { path: "/etc/hosts" }, /outside the project/],
  ["read_file", { path: "link/secret.txt" }, /outside the project/],
  ["read_file", { path: ".aegis/state/daemon.json" }, /does not read/],
  ["read_file", { path: "src/../.git/config" }, /does not read/],
  ["read_file", { path: "missing.md" }, /no such file/],
  ["read_file", { path: "binary.bin" }, /not a text/],
  ["read_file", { file: "README.md" }, /path/],
  ["write_report", { path: "../out.md", text: "" }, /outside the project/],
  ["write_report", { path: "link/out.md", text: "" }, /outside the project/],
  ["write_report", { path: "src/a.ts", text: "" }, /ends in \.md or \.txt/],
  ["write_report", { path: ".git/x.md", text: "" }, /does not read/],
  ["write_report", { path: "README.md/x.md", text: "" }, /write_report|outside/],
])("%s refuses %o", async (tool, input, message) => {
  const result = await callOnce({ files }, tool, input);
  expect(result).toMatchObject({ is_error: true, output: expect.stringMatching(message) });
});

test("writing follows the agent's permission", async () => {
  const report = { path: "out.md", text: "x" };
  const refused = await callOnce({ agent: { permission: "read" } }, "write_report", report);
  expect(refused).toMatchObject({ is_error: true, output: expect.stringContaining("may only read") });
  const denied = await callOnce(
    { agent: { permission: "auto" }, host: { permission: () => ({ decision: "deny", reason: "not now" }) } },
    "write_report",
    report,
  );
  expect(denied).toMatchObject({ is_error: true, output: "not permitted: not now" });
  const allowed = await callOnce(
    { agent: { permission: "auto" }, host: { permission: () => ({ decision: "allow", scope: "once" }) } },
    "write_report",
    report,
  );
  expect(allowed).toMatchObject({ is_error: false, output: "wrote out.md" });
});

/** One call of a tool by a playbook that only does that. */
async function callOnce(setup: ScriptedSetup, tool: string, input: unknown) {
  const playbook = `rules: [{ name: call, when: always, steps: [{ tool: ${tool}, input: ${JSON.stringify(input)} }] }]`;
  const { conversation, dir } = await openScripted({ ...setup, playbook });
  await symlink(join(dir, ".."), join(dir, "link"));
  const events = await runTurn(conversation, "go");
  const [call] = eventsOf(events, "tool_call");
  const [result] = eventsOf(events, "tool_result");
  if (!call || !result) throw new Error("no call");
  return { ...call, ...result, diff: result.diff, dir };
}
