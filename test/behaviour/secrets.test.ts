/** Known secrets stay out of what is shown and of what is kept, and still reach the agent they were sent to. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@aegis/client/client.ts";
import { followEvents } from "@aegis/client/events.ts";
import { waitForRun } from "@aegis/client/wait-work.ts";
import type { LiveDelta } from "@aegis/contract/event.ts";
import { newId } from "@aegis/contract/ids.ts";
import { describe, expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { anthropicWire } from "../helpers/fake-models/anthropic.ts";
import { nativeConfig } from "../helpers/fake-models/config.ts";
import { fakeModels } from "../helpers/fake-models/server.ts";
import { type Project, testProject } from "../helpers/project.ts";
import { storedColumn } from "../helpers/stored.ts";
import { answerTo, createSession, eventsOf, hasSaid, message, openAsk, say, talk } from "../helpers/talk.ts";

const secret = "hunter2-is-the-deploy-key";
const env = { DEPLOY_API_KEY: secret };
const files = {
  ".aegis.yaml": "default_agent: dev\nagents:\n  dev: { harness: scripted, playbook: playbook.yaml }\n",
  "playbook.yaml": `
rules:
  - name: hold with the secret
    when: '/^hold (\\S+) with ${secret}$/'
    steps: [{ say: "holding {1}" }, { wait: { gate: "gates/{1}" } }, { say: "released {1}" }]
  - name: stream
    when: '/^stream (.+)/s'
    steps: [{ think: "{1}" }, { stream: "{1}", chunk: 3, delay: 1 }]
  - name: run a tool
    when: '/^tool (.+)/'
    steps: [{ tool: grep, input: { pattern: "{1}" }, save: found }, { say: "found: {found}" }]
  - name: ask a person
    when: '/^ask (.+)/'
    steps: [{ tool: aegis_ask_human, input: { question: "{1}" }, save: answer }, { say: "told: {answer}" }]
  - name: anything else
    when: always
    steps: [{ say: "you said: {text}" }]
`,
};

/** Every row of the table of messages, as it is on disk. */
const bodies = (project: Pick<Project, "dir">) => storedColumn(project.dir, "messages", "body");
const answers = (project: Pick<Project, "dir">) => storedColumn(project.dir, "asks", "answer");

/** The files below a folder whose bytes contain the text, the database's log among them. */
async function filesWith(text: string, folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const found = await Promise.all(paths.map(async (path) => ((await readFile(path)).includes(text) ? path : [])));
  return found.flat();
}

async function liveText(client: Client, ask: () => Promise<unknown>): Promise<LiveDelta[]> {
  const stop = new AbortController();
  const deltas: LiveDelta[] = [];
  const started = Promise.withResolvers<void>();
  const following = (async () => {
    for await (const item of followEvents(client, { live: true, after: 0, signal: stop.signal })) {
      started.resolve();
      if (item.kind === "delta") deltas.push(item.delta);
    }
  })();
  await started.promise;
  await ask();
  stop.abort();
  await following.catch(() => {});
  return deltas;
}

describe("live text", () => {
  it("never shows a secret or a piece of it, and is the beginning of what is stored", async () => {
    const project = await testProject(files);
    const { client } = await project.start({ env });
    const session = await createSession(client);
    const deltas = await liveText(client, () => talk(client, session.id, `stream the key is ${secret}, keep it safe`));
    const live = deltas.filter((delta) => delta.type === "text");
    const shown = live.map((delta) => delta.text).join("");
    const [stored] = await eventsOf(client, "turn.text", session.id);
    expect(stored?.data.text).toBe("the key is [redacted], keep it safe");
    expect(stored?.data.text.startsWith(shown)).toBe(true);
    expect(live.length).toBeGreaterThan(3);
    for (let end = 3; end <= secret.length; end++) expect(shown).not.toContain(secret.slice(0, end));
    const places = live.reduce((at, delta) => (delta.offset === at ? at + delta.text.length : Number.NaN), 0);
    expect(places).toBe(shown.length);
  });

  it("is printed once by aegis run, without the secret", async () => {
    const project = await aegisProject(files);
    Object.assign(project.env, env);
    const { stdout } = await project.aegis("run", `stream the key is ${secret}, keep it safe`);
    expect(stdout).toBe("the key is [redacted], keep it safe\n");
  });
});

describe("a message with a secret", () => {
  it("reaches its agent whole and is redacted when its turn has ended", async () => {
    const project = await testProject(files);
    const daemon = await project.start({ env });
    const { client } = daemon;
    const session = await createSession(client);
    const id = newId("msg", Date.now());
    const text = `hold one with ${secret}`;
    const receipt = await say(client, session.id, text, { id });
    await hasSaid(client, session.id, "holding one");
    await project.open("one");
    expect(await answerTo(client, receipt)).toBe("released one");
    expect((await message(client, receipt.message)).body).toBe("hold one with [redacted]");
    expect(await bodies(project)).toEqual(["hold one with [redacted]"]);
    expect((await say(client, session.id, text, { id })).duplicate).toBe(true);
    const view = await client.call("getSession", { path: { session: session.id } });
    expect(view.session.title).not.toContain(secret);

    expect(await filesWith(secret, join(project.dir, ".aegis/state"))).toEqual([]);
    daemon.signal("SIGTERM");
    await daemon.exited;
    expect(await filesWith(secret, join(project.dir, ".aegis/state"))).toEqual([]);
  });

  it("is sent again whole after a crash, and redacted then", { tags: "slow" }, async () => {
    const project = await testProject(files);
    const first = await project.start({ env });
    const session = await createSession(first.client);
    const receipt = await say(first.client, session.id, `hold two with ${secret}`);
    await hasSaid(first.client, session.id, "holding two");
    await first.kill();
    await project.open("two");
    const { client } = await project.start({ env });
    expect(await answerTo(client, receipt)).toBe("released two");
    expect(await bodies(project)).toEqual(["hold two with [redacted]"]);
  });

  it("is redacted when it is taken back", async () => {
    const project = await testProject(files);
    const { client } = await project.start({ env });
    const session = await createSession(client);
    await say(client, session.id, `hold three with ${secret}`);
    await hasSaid(client, session.id, "holding three");
    const waiting = await say(client, session.id, `later: ${secret}`);
    await client.call("cancelMessage", { path: { message: waiting.message } });
    expect((await bodies(project))[1]).toBe("later: [redacted]");
  });
});

describe("an answer to an ask", () => {
  it("reaches the agent, and keeps no secret in the row, the events and the API", async () => {
    const project = await testProject(files);
    const daemon = await project.start({ env });
    const { client } = daemon;
    const session = await createSession(client);
    const receipt = await say(client, session.id, "ask which key?");
    const { id } = await openAsk(client);
    const { ask } = await client.call("answerAsk", { path: { ask: id }, body: { text: `take ${secret}` } });
    expect(ask.answer).toEqual({ choice: null, text: "take [redacted]" });
    expect(await answerTo(client, receipt)).toContain("take [redacted]");
    expect((await client.call("getAsk", { path: { ask: id } })).ask.answer?.text).toBe("take [redacted]");
    expect(await filesWith(secret, join(project.dir, ".aegis/state"))).toEqual([]);
  });

  it("is whole for a workflow that a kill cut before it had recorded the answer", { tags: "slow" }, async () => {
    const flow = `
import { workflow } from "aegis";
export const keyed = workflow("keyed", async (engine) => {
  const key = await engine.askHuman("which key?");
  return "a key of " + key.length;
});
`;
    const project = await testProject({ ...files, ".aegis/plugins/flows.ts": flow });
    const first = await project.start({ env });
    const { run } = await first.client.call("startRun", { path: { workflow: "keyed" }, body: { args: {} } });
    const { id } = await openAsk(first.client);
    await first.kill();
    const { client } = await project.start({ env });
    const { ask } = await client.call("answerAsk", { path: { ask: id }, body: { text: secret } });
    expect(ask.answer?.text).toBe("[redacted]");
    const ended = await waitForRun(client, run.id);
    expect(ended.result).toBe(`a key of ${secret.length}`);
    expect(await answers(project)).toEqual(['{"choice":null,"text":"[redacted]"}']);
  });
});

describe("a picture whose name holds a secret", () => {
  it("is listed without it", async () => {
    const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const models = await fakeModels(anthropicWire, () => ({ text: "seen" }));
    const project = await testProject({ ".aegis.yaml": nativeConfig(models, { api: "anthropic" }) });
    const { client } = await project.start({ env });
    const session = await createSession(client);
    const receipt = await say(client, session.id, "look", { attachments: [{ name: `${secret}.png`, data: pixel }] });
    expect(await answerTo(client, receipt)).toBe("seen");
    expect((await message(client, receipt.message)).attachments).toMatchObject([{ name: "[redacted].png" }]);
    expect(await filesWith(secret, join(project.dir, ".aegis/state"))).toEqual([]);
  });
});
