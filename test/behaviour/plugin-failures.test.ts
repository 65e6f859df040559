/** What a plugin gets wrong while it runs can be found: in its log, in `plugin show`, and in the record of tool calls. */
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { pluginLines } from "@aegis/cli/format/plugin-table.ts";
import { createStyle } from "@aegis/cli/format/style.ts";
import { expect, it } from "vitest";
import { testProject } from "../helpers/project.ts";
import { pluginNamed, toolUser, untilPlugin, useTool } from "../helpers/projects/tool-user.ts";
import { createSession, eventsOf, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const faulty =
  'import { hook, tool } from "aegis";\n' +
  "function deep() {\n" +
  '  throw new Error("hook trouble");\n' +
  "}\n" +
  'export const before = hook("pre_turn", () => deep());\n' +
  'export const sleepy = hook("pre_turn", { timeout: 0.05 }, () => new Promise(() => {}));\n' +
  'export const slow_tool = tool({ description: "d", permission: "read", timeout: 0.2 }, () => new Promise(() => {}));\n' +
  'export const bad_tool = tool({ description: "d", permission: "read" }, () => { throw new Error("tool trouble"); });\n';

it("counts failures of hooks with their stack, and calls a timeout a timeout", { tags: "slow" }, async () => {
  const project = await testProject({ ...toolUser, ".aegis/plugins/faulty.ts": faulty });
  const { client } = await project.start();
  const session = await createSession(client);
  await talk(client, session.id, "one");
  await talk(client, session.id, "two");
  const { plugin } = await client.call("getPlugin", { path: { plugin: "faulty" } });
  expect(plugin.hook_failures).toEqual([
    expect.objectContaining({
      event: "pre_turn",
      hook: "before",
      count: 2,
      kind: "exception",
      error: "hook trouble",
      stack: expect.stringMatching(/at deep .*faulty\.ts:3/),
    }),
    expect.objectContaining({ event: "pre_turn", hook: "sleepy", count: 2, kind: "timeout", stack: null }),
  ]);
  const log = async () => readFile(plugin.log_file, "utf8");
  await waitUntil("the log is written", async () => (await log()).includes("(sleepy) timed out (failure 2"));
  expect(await log()).toMatch(/the hook pre_turn \(before\) failed: Error: hook trouble.*faulty\.ts:3/);
  expect(await log()).toContain("the hook pre_turn (before) failed (failure 2 since the daemon started)");
  expect(await log()).toContain("the hook pre_turn (sleepy) timed out: gave no answer within 50 ms");
  const shown = pluginLines(plugin, { style: createStyle(false), columns: 200, cwd: project.dir }).join("\n");
  expect(shown).toMatch(/hook pre_turn \(before\) failed 2 times, last at .*: hook trouble\n +at deep .*faulty\.ts:3/);

  expect(await useTool(client, "slow_tool")).toContain("gave no answer within 0.2 s");
  expect(await useTool(client, "bad_tool")).toContain("tool trouble");
  await waitUntil("both calls are recorded", async () => (await eventsOf(client, "tool.called")).length >= 2);
  const calls = await eventsOf(client, "tool.called");
  expect(calls.map(({ data }) => [data.tool, data.outcome])).toEqual([
    ["slow_tool", "timeout"],
    ["bad_tool", "error"],
  ]);
});

it("picks up a plugin whose folder was made first and filled later", { tags: "slow" }, async () => {
  const project = await testProject({ ...toolUser, ".aegis/plugins/first.ts": "export const nothing = 1;\n" });
  const { client } = await project.start();
  const said = (text: string) =>
    `import { tool } from "aegis";\nexport const ${text} = tool({ description: "d", permission: "read" }, () => "${text}");\n`;
  const isThere = async (name: string) => (await client.call("listPlugins")).plugins.some((one) => one.name === name);
  // Each folder is seen empty before it is filled: the daemon has looked again by then.
  const looked = async () => {
    const { generation } = await pluginNamed(client, "first");
    await project.write(".aegis/plugins/first.ts", `export const nothing = ${generation + 1};\n`);
    await untilPlugin(client, "first", (view) => view.generation > generation);
  };
  await mkdir(join(project.dir, ".aegis/plugins/code"));
  await mkdir(join(project.dir, ".aegis/plugins/claude/.claude-plugin"), { recursive: true });
  await mkdir(join(project.dir, ".aegis/plugins/deep/src"), { recursive: true });
  await looked();
  expect(await isThere("code")).toBe(false);
  await project.write(".aegis/plugins/code/main.ts", said("code_tool"));
  await waitUntil("the module is picked up", () => isThere("code"), 20_000);
  await project.write(".aegis/plugins/claude/.claude-plugin/plugin.json", '{ "name": "claude", "version": "1.0.0" }');
  await waitUntil("the manifest is picked up", () => isThere("claude"), 20_000);
  await project.write(".aegis/plugins/deep/src/main.ts", said("deep_tool"));
  await waitUntil("the module below is picked up", () => isThere("deep"), 20_000);
  expect(await useTool(client, "deep_tool")).toBe("deep_tool");
});
