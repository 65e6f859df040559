// @module-tag slow
/** Output without measure: it is cut, says so, is kept in a file, and costs neither memory nor the database. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { testProject } from "../helpers/project.ts";
import { toolUser, useTool } from "../helpers/projects/tool-user.ts";
import { scaled } from "../helpers/slowness.ts";

const command = [process.execPath, fileURLToPath(new URL("flood-agent.mjs", import.meta.url))];
const files = {
  ".aegis.yaml": `default_agent: flood\nagents:\n  flood: { harness: acp, options: { command: ${JSON.stringify(command)} } }\n`,
};
const mb = 1024 * 1024;

/** Bytes below a folder, without those of `except`. */
async function bytesIn(dir: string, except: string): Promise<number> {
  let sum = 0;
  for (const entry of await readdir(dir, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !path.startsWith(except)) sum += (await stat(path)).size;
  }
  return sum;
}

async function peakMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
}

it("a turn that says 100 MB ends, and is stored cut with the whole in a file", {
  timeout: scaled(120_000),
}, async () => {
  const at = await aegisProject(files);
  const answer = await at.aegis("run", "text 100");
  expect(answer.code).toBe(0);
  const [, cut, path = ""] = /\[(\d+) more characters were cut; the whole text is in (\S+)\]/.exec(answer.stdout) ?? [];
  expect(Number(cut)).toBeGreaterThan(98 * mb);
  expect(answer.stdout.length).toBeLessThan(2 * mb);
  expect((await stat(join(at.root, path))).size).toBe(100 * mb);
  const state = join(at.root, ".aegis/state");
  expect(await bytesIn(state, join(state, "overflow"))).toBeLessThan(40 * mb);
  expect(await peakMemory((await at.daemonPid()) ?? 0)).toBeLessThan(500 * mb);
});

it("a tool's result of 10 MB is stored cut, and the turn goes on", { timeout: scaled(60_000) }, async () => {
  const at = await aegisProject(files);
  const { text, session } = await at.json<{ text: string; session: string }>("run", "tool 10", "--keep");
  expect(text).toBe("done");
  const { events } = await at.json<{ events: { type: string; data: { output: string } }[] }>("history", session);
  const result = events.find(({ type }) => type === "turn.tool_result")?.data.output ?? "";
  expect(result.length).toBeLessThan(0.3 * mb);
  const [, path = ""] = /the whole text is in (\S+)\]$/.exec(result) ?? [];
  expect((await stat(join(at.root, path))).size).toBe(10 * mb);
});

const big = 50 * mb;
const pluginFiles = {
  ...toolUser,
  ".aegis/plugins/big.ts":
    'import { hook, tool } from "aegis";\n' +
    `export const big_tool = tool({ description: "d", permission: "read" }, () => "b".repeat(${big}));\n` +
    `export const huge_tool = tool({ description: "d", permission: "read" }, () => "h".repeat(${2 * big}));\n` +
    `export const angry_tool = tool({ description: "d", permission: "read" }, () => { throw new Error("e".repeat(${big})); });\n` +
    'export const small_tool = tool({ description: "d", permission: "read" }, () => "small");\n' +
    `export const after = hook("after_tool_call", ({ tool }) => (tool === "small_tool" ? "s".repeat(${big}) : null));\n`,
};

it("tools and hooks of plugins that give 50 MB", { timeout: scaled(120_000) }, async () => {
  const project = await testProject(pluginFiles);
  const { client } = await project.start();
  const answer = await useTool(client, "big_tool");
  expect(answer.length).toBeLessThan(0.3 * mb);
  const [, path = ""] = /the whole text is in (\S+)\]$/.exec(answer) ?? [];
  expect((await stat(join(project.dir, path))).size).toBe(big);
  expect(await useTool(client, "huge_tool")).toContain("characters; at most");
  expect((await useTool(client, "angry_tool")).length).toBeLessThan(0.1 * mb);
  // What the hook made of the result is too large to count: the tool's own result stands.
  expect(await useTool(client, "small_tool")).toBe("small");
  const state = join(project.dir, ".aegis/state");
  expect(await bytesIn(state, join(state, "overflow"))).toBeLessThan(40 * mb);
});
