// @module-tag slow
/** Plugins that change under a running daemon: the new generation takes over in one step, or the old one goes on. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { buildTrust } from "@aegis/project/trust/project-trust.ts";
import { expect, it } from "vitest";
import { type Project, testProject } from "../helpers/project.ts";
import { pluginNamed, toolUser, untilPlugin, useTool } from "../helpers/projects/tool-user.ts";
import { scaled } from "../helpers/slowness.ts";
import { createSession, eventsOf, say, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const greeter = (text: string) =>
  'import { hook, tool, command, skill, agent, reducer, workflow } from "aegis";\n' +
  `export const greet = tool({ description: "d", permission: "read" }, () => ${JSON.stringify(text)});\n` +
  `export const first = hook("pre_turn", () => ({ prependSystem: ${JSON.stringify(`from ${text}`)} }));\n` +
  'export const slash = command({ name: "hi", description: "d" }, () => "hi");\n' +
  'export const page = skill({ name: "greeting", description: "how to greet", content: "Say hello." });\n' +
  'export const bot = agent({ name: "greeter-bot", description: "greets", prompt: "Greet." });\n' +
  'export const joined = reducer("joined", (replies) => replies.length);\n' +
  'export const flow = workflow("greeting_flow", async (engine) => engine.name);\n';

const plugin = ".aegis/plugins/greeter.ts";

async function started(
  files: Record<string, string>,
): Promise<{ project: Project; daemon: Awaited<ReturnType<Project["start"]>> }> {
  const project = await testProject({ ...toolUser, ...files });
  return { project, daemon: await project.start() };
}

it("a changed file counts at once, a broken one changes nothing, and twice loaded is registered once", async () => {
  const { project, daemon } = await started({
    [plugin]: greeter("one"),
    ".aegis/plugins/other.ts": greeter("x")
      .replaceAll(/greet/g, "other")
      .replaceAll('"hi"', '"ho"')
      .replaceAll('"joined"', '"joined_2"'),
  });
  const { client } = daemon;
  expect(await useTool(client, "greet")).toBe("one");

  await project.write(plugin, greeter("two"));
  await untilPlugin(client, "greeter", (view) => view.generation === 2);
  expect(await useTool(client, "greet")).toBe("two");
  expect(await pluginNamed(client, "other")).toMatchObject({ generation: 1, status: "loaded" });

  await project.write(plugin, `${greeter("three")}throw new Error("half written");\n`);
  await untilPlugin(client, "greeter", (view) => view.reason !== null);
  const kept = await pluginNamed(client, "greeter");
  expect(kept).toMatchObject({ status: "loaded", generation: 2 });
  expect(kept.reason).toMatch(/the previous one stays active: greeter\.ts:9: half written/);
  expect(await useTool(client, "greet")).toBe("two");

  await project.write(plugin, greeter("four"));
  await untilPlugin(client, "greeter", (view) => view.generation === 3 && view.reason === null);
  for (let round = 0; round < 2; round++) await client.call("reloadPlugins", { body: { plugin: "greeter" } });
  const { plugin: detail } = await client.call("getPlugin", { path: { plugin: "greeter" } });
  expect(detail).toMatchObject({
    generation: 5,
    brings: {
      hooks: [{ event: "pre_turn", name: "first" }],
      tools: [{ name: "greet" }],
      agents: ["greeter-bot"],
      skills: ["greeting"],
      commands: [{ name: "hi" }],
      reducers: ["joined"],
      workflows: [{ name: "greeting_flow" }],
    },
  });
  const session = await createSession(client);
  const heard = await talk(client, session.id, "hello");
  expect(heard.match(/from four/g)).toHaveLength(1);
  const { workflows } = await client.call("listWorkflows");
  expect(workflows.filter((one) => one.name === "greeting_flow")).toHaveLength(1);
  const { agents } = await client.call("listAgents");
  expect(agents.filter((one) => one.slug === "greeter-bot")).toMatchObject([{ plugin: "greeter" }]);

  await rm(join(project.dir, plugin));
  await waitUntil("the plugin is gone", async () =>
    (await client.call("listPlugins")).plugins.every((one) => one.name !== "greeter"),
  );
  expect(await useTool(client, "greet")).not.toBe("four");
  expect((await eventsOf(client, "plugin.removed")).map((event) => event.data.plugin)).toEqual(["greeter"]);
});

it("calls in progress end on the generation that they began on", async () => {
  const slow = (text: string) =>
    'import { tool } from "aegis";\nimport { existsSync } from "node:fs";\n' +
    `export const wait = tool({ description: "d", permission: "read" }, async (_input, ctx) => { ctx.log("info", "waiting"); while (!existsSync(ctx.projectRoot + "/go")) await new Promise((r) => setTimeout(r, 20)); return ${JSON.stringify(text)}; });\n`;
  const { project, daemon } = await started({ ".aegis/plugins/slow.ts": slow("old") });
  const { client } = daemon;
  const session = await createSession(client);
  await say(client, session.id, "use wait x");
  await waitUntil("the call is running", async () => (await eventsOf(client, "turn.tool_call")).length === 1);
  await project.write(".aegis/plugins/slow.ts", slow("new"));
  await untilPlugin(client, "slow", (view) => view.generation === 2);
  await project.write("go", "");
  await waitUntil("the turn has ended", async () => (await eventsOf(client, "turn.ended")).length === 1);
  expect((await eventsOf(client, "turn.ended"))[0]?.data.text).toBe("old");
  expect(await useTool(client, "wait")).toBe("new");
});

it("without a critical plugin that guards them no agent runs, and one that is repaired lets them", async () => {
  const manifest = '[plugin]\nname = "guard"\nversion = "1.0.0"\ncritical = true\n';
  const { project, daemon } = await started({
    ".aegis/plugins/guard/plugin.toml": manifest,
    ".aegis/plugins/guard/main.ts": 'throw new Error("no guard today");\n',
  });
  const { client } = daemon;
  await expect(createSession(client)).rejects.toThrow(
    /the plugin "guard", which is critical, is not running: main\.ts:1: no guard today/,
  );
  await project.write(
    ".aegis/plugins/guard/main.ts",
    'import { hook } from "aegis";\nexport const g = hook("pre_tool_use", () => ({ decision: "deny", reason: "guarded" }));\n',
  );
  await untilPlugin(client, "guard", (view) => view.status === "loaded");
  expect(await useTool(client, "aegis_meta", "nothing")).toContain("guarded");
});

it("a plugin that keeps dying is failed, its gates stay shut, and a change brings it back", {
  timeout: scaled(90_000),
}, async () => {
  const dying =
    'import { hook } from "aegis";\nexport const g = hook("pre_tool_use", () => ({ decision: "allow" }));\nexport const t = hook("pre_turn", () => ({ prependSystem: "seen" }));\nsetTimeout(() => process.exit(1), 50);\n';
  const { project, daemon } = await started({
    ".aegis/plugins/dying.ts": dying,
    ".aegis/plugins/throwing.ts": 'const why = "again and again";\nsetTimeout(() => { throw new Error(why); }, 50);\n',
  });
  const { client } = daemon;
  // Its author agrees to what it becomes; otherwise its changed gates would wait for a person.
  const { root, store } = await buildTrust(project.dir, { HOME: join(project.dir, "..", "home") });
  await store.update(root, (before) => ({ ...before, dev: ["dying"] }));
  await waitUntil(
    "it was started again",
    async () => (await eventsOf(client, "plugin.restarting")).length >= 2,
    20_000,
  );
  await untilPlugin(client, "dying", (view) => view.status === "failed");
  expect((await pluginNamed(client, "dying")).reason).toMatch(/exited with code 1/);
  await untilPlugin(client, "throwing", (view) => view.status === "failed");
  expect((await pluginNamed(client, "throwing")).reason).toMatch(/throwing\.ts:2: again and again/);
  expect(await useTool(client, "aegis_meta", "nothing")).toMatch(/dying/);
  await project.write(".aegis/plugins/dying.ts", dying.replace(/setTimeout.*/, ""));
  await untilPlugin(client, "dying", (view) => view.status === "loaded");
  expect(await useTool(client, "aegis_meta", "nothing")).not.toMatch(/dying/);
});
