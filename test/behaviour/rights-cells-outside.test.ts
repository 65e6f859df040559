// @module-tag slow
/** Cells of the table of rights in docs/security.md for work that arrives from outside, and for what waits for consent. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@aegis/client/client.ts";
import { expect } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { FakeBotApi } from "../helpers/fake-bot-api.ts";
import { anthropicWire } from "../helpers/fake-models/anthropic.ts";
import { fakeModels } from "../helpers/fake-models/server.ts";
import { testProject } from "../helpers/project.ts";
import { remoteAgent, rightsFiles, seated } from "../helpers/projects/rights.ts";
import { untilPlugin } from "../helpers/projects/tool-user.ts";
import { cell, expectFull, standing } from "../helpers/rights-cells.ts";
import { hookSecret, signedHook } from "../helpers/signed-hook.ts";
import { createSession, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

cell("session or task of a webhook, a channel or a program over MCP", "person", async () => {
  const bot = await FakeBotApi.start();
  bot.chat(7);
  const project = await testProject({
    ...rightsFiles,
    ".aegis.yaml": `${rightsFiles[".aegis.yaml"]}telegram: { token_env: BOT_TOKEN, api_root: "${bot.url}", users: [7], stream: off }
webhooks:
  in:
    talk: { secret_env: HOOK_SECRET, agent: strong, prompt: "hold by-hook" }
    work: { secret_env: HOOK_SECRET, queue: plain }
`,
  });
  const daemon = await project.start({ env: { BOT_TOKEN: bot.token, HOOK_SECRET: hookSecret } });
  const isOwn = async (place: string) => {
    const { seat, session } = await standing(project, daemon, place);
    await expectFull(seat);
    expect(session).toMatchObject({ depth: 0, parent: null });
  };
  const send = async (hook: string, text: string) => {
    const body = Buffer.from(text);
    const headers = signedHook(`id-${hook}`, body);
    const { status } = await fetch(`${daemon.file.url}/v1/hooks/${hook}`, { method: "POST", headers, body });
    expect(status).toBe(200);
  };
  await send("talk", "{}");
  await isOwn("by-hook");
  await send("work", "hold by-hook-task");
  await isOwn("by-hook-task");
  bot.say(7, "hold by-chat");
  await isOwn("by-chat");

  const { token, url } = await daemon.client.call("addClient", { body: { name: "editor" } });
  const program = createClient({ url: new URL(url).origin, token });
  await createSession(program, { agent: "strong", prompt: "hold by-program" });
  await isOwn("by-program");
  const task = (more: object) =>
    program.call("enqueueTask", { path: { queue: "plain" }, body: { payload: "hold by-program-task", ...more } });
  await expect(task({ check: "touch planted" })).rejects.toMatchObject({ code: "forbidden" });
  await task({});
  await isOwn("by-program-task");
});

cell("fork of a session", "person", async () => {
  const models = await fakeModels(anthropicWire, () => ({ text: "heard" }));
  const project = await testProject({
    ".aegis.yaml": `default_agent: limited
models: { fake: { base_url: "${models.url}", api: anthropic } }
agents:
  model: { harness: native, model: fake/one, permission: full }
${remoteAgent("limited", "permission: write")}`,
    ".aegis/plugins/marks.ts": rightsFiles[".aegis/plugins/marks.ts"],
  });
  const daemon = await project.start();
  const { client } = daemon;
  await untilPlugin(client, "marks", ({ status }) => status === "loaded");
  const offered = () => JSON.stringify(models.requests.at(-1)?.body.tools);
  await talk(client, (await createSession(client, { agent: "model" })).id, "hello");
  expect(offered()).toContain('"mark"');

  const caller = await seated(project, daemon, "limited", "starter");
  const { text } = await caller.call("aegis_spawn", { agent: "model", prompt: "hello" });
  const { handle } = JSON.parse(text) as { handle: string };
  await talk(client, handle, "and again");
  expect(offered()).not.toContain('"mark"');
  const trees = async () => (await client.call("listTrees", {})).trees;
  const counted = await trees();
  const { session: fork } = await client.call("forkSession", { path: { session: handle }, body: {} });
  // It starts no deeper than the original could, and takes no place in its tree.
  expect(fork).toMatchObject({ depth: 1, parent: null });
  expect(await trees()).toEqual(counted);
  const before = models.requests.length;
  await talk(client, fork.id, "hello, fork");
  expect(models.requests.length).toBeGreaterThan(before);
  expect(offered()).not.toContain('"mark"');
});

cell("schedule", "agent", async () => {
  const project = await testProject(rightsFiles);
  const daemon = await project.start();
  const strong = await seated(project, daemon, "strong", "planner");
  expect((await strong.tools()).filter((name) => /schedule|cron/.test(name))).toEqual([]);

  const untrusted = await aegisProject(undefined, { trusted: false });
  await untrusted.aegis("up");
  await mkdir(join(untrusted.root, ".aegis/schedules"), { recursive: true });
  await writeFile(join(untrusted.root, ".aegis/schedules/mine.yaml"), 'agent: dev\nprompt: do it\ncron: "* * * * *"\n');
  type Listed = { schedules: { name: string }[]; held: { name: string }[] };
  const list = () => untrusted.json<Listed>("schedule", "list");
  await waitUntil("it is noticed", async () => (await list()).held.length > 0);
  expect(await list()).toMatchObject({ schedules: [], held: [{ name: "mine" }] });
});

cell("tool, hook or command of a plugin", "person", async () => {
  const files = {
    ".aegis/plugins/mine.js":
      "import { tool } from 'aegis';\nexport const t = tool({ description: 'd', permission: 'read' }, () => 't');\n",
  };
  const project = await aegisProject(files, { trusted: false });
  await project.aegis("up");
  const status = async () => {
    const { plugins } = await project.json<{ plugins: { name: string; status: string }[] }>("plugin", "list");
    return plugins.find(({ name }) => name === "mine")?.status;
  };
  await waitUntil("it is found", async () => (await status()) !== undefined);
  expect(await status()).not.toBe("loaded");
  await project.aegis("trust", "--yes");
  await waitUntil("it is loaded after consent", async () => (await status()) === "loaded");
});
