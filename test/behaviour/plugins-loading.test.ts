// @module-tag slow
/** The API answers before plugins are loaded. What a plugin brings waits for this plugin, and for no other one. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@aegis/client/client.ts";
import { expect, it } from "vitest";
import { type Project, testProject } from "../helpers/project.ts";
import { pluginNamed, toolUser, untilPlugin, useTool } from "../helpers/projects/tool-user.ts";
import { scaled } from "../helpers/slowness.ts";
import { createSession, eventsOf, say, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

/** Loads when the file `gates/<name>` exists. */
const waitsFor = (name: string) => `
import { existsSync } from "node:fs";
import { hook, tool } from "aegis";
while (!existsSync(new URL("../../gates/${name}", import.meta.url))) await new Promise((done) => setTimeout(done, 10));
`;
const quick =
  'import { tool } from "aegis";\n' +
  'export const quick_tool = tool({ description: "d", permission: "read", parameters: { value: "string" } }, ({ value }) => "quick " + value);\n';
const late = `${waitsFor("late")}export const late_tool = tool({ description: "d", permission: "read" }, () => "late");\n`;
const guard = `${waitsFor("guard")}
if (existsSync(new URL("../../broken", import.meta.url))) throw new Error("no key for the guard");
export const gate = hook("pre_tool_use", { timeout: 5 }, ({ input }) =>
  input.value === "bad" ? { decision: "deny", reason: "the guard says no" } : { decision: "allow" });
`;
const rewriter = `${waitsFor("rewriter")}export const received = hook("pre_turn", () => ({ rewriteUser: "use quick_tool it" }));\n`;

/** A plugin may wait for its gate longer than the default limit on a busy machine. */
const patient = {
  ...toolUser,
  ".aegis.yaml": `${toolUser[".aegis.yaml"]}plugins: { limits: { load_timeout: 600 } }\n`,
};

const closeGate = (project: Project, name: string) => rm(join(project.dir, "gates", name));
const loading = async (client: Client) => (await client.call("status")).plugins_loading;

/** Loads all plugins once, so that the next daemon knows their declarations. */
async function startedOnce(plugins: Readonly<Record<string, string>>): Promise<Project> {
  const files = Object.fromEntries(Object.entries(plugins).map(([name, text]) => [`.aegis/plugins/${name}.js`, text]));
  const gates = Object.fromEntries(Object.keys(plugins).map((name) => [`gates/${name}`, ""]));
  const project = await testProject({ ...patient, ...files, ...gates });
  const daemon = await project.start();
  for (const name of Object.keys(plugins))
    expect(await pluginNamed(daemon.client, name)).toMatchObject({ status: "loaded" });
  await daemon.kill();
  for (const name of Object.keys(plugins)) await closeGate(project, name);
  return project;
}

it("answers and works while plugins load, and a gate waits for its own plugin", async () => {
  const project = await startedOnce({ quick, late, guard });
  const { client } = await project.start();
  // The API answers before the daemon has listed the plugins; the two slow ones cannot load before their gates open.
  await waitUntil("the daemon loads both slow plugins", async () => (await loading(client)) >= 2);
  const session = await createSession(client);
  expect(await talk(client, session.id, "hello")).toBe("you said: hello");

  // A tool of a loaded plugin is not called before the gate of another one has judged it.
  const bad = useTool(client, "quick_tool", "bad");
  await waitUntil("the turn calls the tool", async () => (await eventsOf(client, "turn.tool_call")).length > 0);
  expect(await eventsOf(client, "tool.called")).toEqual([]);
  await project.open("guard");
  expect(await bad).toContain("the guard says no");
  expect(await useTool(client, "quick_tool", "good")).toBe("quick good");
  expect(await loading(client)).toBe(1);

  const answer = useTool(client, "late_tool");
  await project.open("late");
  expect(await answer).toBe("late");
  expect(await pluginNamed(client, "late")).toMatchObject({ status: "loaded", generation: 1 });
  expect(await loading(client)).toBe(0);
});

it("does not start a turn before the hooks of a plugin that is loaded for the first time are known", async () => {
  const files = { ".aegis/plugins/quick.js": quick, ".aegis/plugins/rewriter.js": rewriter };
  const project = await testProject({ ...patient, ...files });
  const { client } = await project.start();
  expect(await loading(client)).toBeGreaterThan(0);
  expect((await client.call("listSessions")).sessions).toEqual([]);
  let isCreated = false;
  const session = createSession(client).then((made) => {
    isCreated = true;
    return made;
  });
  expect(await loading(client)).toBeGreaterThan(0);
  expect(isCreated).toBe(false);
  await project.open("rewriter");
  expect(await talk(client, (await session).id, "hello")).toBe("quick it");
});

it("refuses what a gate guards if its plugin fails to load after the start", async () => {
  const project = await startedOnce({ quick, guard });
  await project.write("broken", "");
  const { client } = await project.start();
  const session = await createSession(client);
  const answer = talk(client, session.id, "use quick_tool good");
  await project.open("guard");
  expect(await answer).toMatch(/guards this and is not loaded as recorded.*no key for the guard/);
  expect(await pluginNamed(client, "guard")).toMatchObject({ status: "failed", generation: 0 });
  const status = await client.call("status");
  expect(status.attention.failed).toEqual(["plugin guard"]);
  expect(status.missing_gates).toMatchObject([{ plugin: "guard", hooks: ["pre_tool_use (gate)"] }]);
  expect((await eventsOf(client, "plugin.failed")).map(({ data }) => data.plugin)).toEqual(["guard"]);
});

it("registers what the code declares now if it declares something else than before", async () => {
  const changing =
    'import { existsSync } from "node:fs";\nimport { hook, tool } from "aegis";\n' +
    'const is = existsSync(new URL("../../gates/more", import.meta.url));\n' +
    'export const old_tool = tool({ description: "d", permission: "read" }, () => "old");\n' +
    'export const before = hook("pre_turn", () => ({ rewriteUser: is ? "use new_tool x" : "use old_tool x" }));\n' +
    'export const new_tool = is ? tool({ description: "d", permission: "read" }, () => "new") : undefined;\n';
  const project = await startedOnce({ changing });
  await project.open("more");
  const { client } = await project.start();
  const session = await createSession(client);
  expect(await talk(client, session.id, "hello")).toBe("new");
  expect(await pluginNamed(client, "changing")).toMatchObject({ status: "loaded" });
});

it("survives a kill and a stop while plugins load", async () => {
  const project = await startedOnce({ quick, late, rewriter });
  const killed = await project.start();
  const session = await createSession(killed.client);
  await say(killed.client, session.id, "hello");
  await killed.kill();

  const stopped = await project.start();
  expect(await loading(stopped.client)).toBeGreaterThan(0);
  stopped.signal("SIGTERM");
  stopped.signal("SIGTERM");
  expect((await stopped.exited).code).toBe(0);

  await project.open("rewriter");
  const { client } = await project.start();
  await waitUntil(
    "the message is answered once, through the hook",
    async () => (await eventsOf(client, "turn.ended")).some(({ data }) => data.text === "quick it"),
    scaled(20_000),
  );
  await project.open("late");
  await untilPlugin(client, "late", ({ status }) => status === "loaded");
});

it("stops during the first load of a plugin that never ends", async () => {
  const project = await testProject({ ...patient, ".aegis/plugins/late.js": late });
  const daemon = await project.start();
  const refused = expect(daemon.client.call("listAgents")).rejects.toThrow(
    /stopped before its plugins were loaded|unavailable|cannot be reached/,
  );
  await waitUntil("the plugin loads", async () => (await loading(daemon.client)) > 0);
  daemon.signal("SIGTERM");
  expect((await daemon.exited).code).toBe(0);
  await refused;
});
