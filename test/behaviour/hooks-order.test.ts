/** The order in which plugins hear of one session: its start first, its end last, and never one without the other. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { SessionId } from "@aegis/contract/ids.ts";
import { expect, it } from "vitest";
import { type Project, testProject } from "../helpers/project.ts";
import { createSession, endings, hasSaid, say, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

/** Its start takes a while, so that calls that do not wait for it are noted before it. */
const diary = `
import { appendFileSync } from "node:fs";
import { join } from "node:path";

const events = ["session_start", "pre_turn", "post_turn", "on_interrupt", "session_end"];
export function register(api) {
  for (const event of events)
    api.registerHook(event, async (context, plugin) => {
      if (event === "session_start") await new Promise((resolve) => setTimeout(resolve, 200));
      const line = { event, session: context.session.id, resumed: context.resumed, reason: context.reason };
      appendFileSync(join(plugin.projectRoot, "diary.jsonl"), JSON.stringify(line) + "\\n");
      if (event === "pre_turn" && context.userMessage.includes("forbidden")) return { block: "no" };
    }, { name: \`note_\${event}\` });
}
`;

const files = {
  ".aegis.yaml": "default_agent: dev\nagents:\n  dev: { harness: scripted, playbook: playbook.yaml }\n",
  "playbook.yaml": `
rules:
  - { name: hold, when: '/^hold (\\S+)/', steps: [{ say: "holding {1}" }, { wait: { gate: "gates/{1}" } }] }
  - { name: anything else, when: always, steps: [{ say: "you said: {text}" }] }
`,
  ".aegis/plugins/diary/plugin.toml": '[plugin]\nname = "diary"\nversion = "1.0.0"\ndescription = "Notes"\n',
  ".aegis/plugins/diary/diary.js": diary,
};

type Line = { event: string; session: string; resumed?: boolean; reason?: string };

async function lines(project: Project, session: SessionId): Promise<Line[]> {
  const text = await readFile(join(project.dir, "diary.jsonl"), "utf8").catch(() => "");
  const all = text.split("\n").filter((line) => line !== "");
  return all.map((line) => JSON.parse(line) as Line).filter((line) => line.session === session);
}

/** What is noted of the session once its end is. */
async function ended(project: Project, session: SessionId): Promise<Line[]> {
  await waitUntil("the end is told", async () => (await lines(project, session)).at(-1)?.event === "session_end");
  return lines(project, session);
}

const names = (told: readonly Line[]) => told.map(({ event }) => event);

it("a session's start is dealt with before its first turn, and its end is told last", { tags: "slow" }, async () => {
  const project = await testProject(files);
  const { client } = await project.start();
  const { id } = await createSession(client, { prompt: "hello" });
  await waitUntil("it is answered", async () => (await endings(client, id))[0] === "completed");
  await talk(client, id, "again");
  await client.call("closeSession", { path: { session: id } });
  const told = await ended(project, id);
  expect(names(told)).toEqual(["session_start", "pre_turn", "post_turn", "pre_turn", "post_turn", "session_end"]);
  expect(told[0]).toMatchObject({ resumed: false });
});

it("a session's start is its first hook after the daemon was killed, with the turn repeated or a new one", {
  tags: "slow",
}, async () => {
  const all = ["session_start", "message_received", "pre_spawn", "pre_turn", "post_turn"];
  const project = await testProject({
    ...files,
    ".aegis/plugins/diary/diary.js": diary.replace(/const events = .*;/, `const events = ${JSON.stringify(all)};`),
  });
  const first = await project.start();
  const idle = await createSession(first.client, { prompt: "hello" });
  await waitUntil("it is answered", async () => (await endings(first.client, idle.id))[0] === "completed");
  const busy = await createSession(first.client, { prompt: "hold two" });
  await hasSaid(first.client, busy.id, "holding two");
  await first.kill();
  const before = { idle: (await lines(project, idle.id)).length, busy: (await lines(project, busy.id)).length };
  const second = await project.start();
  await talk(second.client, idle.id, "again");
  const resumed = (await lines(project, idle.id)).slice(before.idle);
  expect(names(resumed).slice(0, 2)).toEqual(["session_start", "message_received"]);
  expect(resumed[0]).toMatchObject({ resumed: true });
  await waitUntil("the turn is repeated", async () =>
    names((await lines(project, busy.id)).slice(before.busy)).includes("pre_turn"),
  );
  const told = names((await lines(project, busy.id)).slice(before.busy));
  expect(told.filter((event) => event !== "post_turn")[0]).toBe("session_start");
  expect(names((await lines(project, idle.id)).slice(0, 2))).toEqual(["session_start", "message_received"]);
});

it("the end of a session that is closed during a turn comes after that of the turn", { tags: "slow" }, async () => {
  const project = await testProject(files);
  const { client } = await project.start();
  const { id } = await createSession(client, { prompt: "hold one" });
  await hasSaid(client, id, "holding one");
  await client.call("closeSession", { path: { session: id } });
  const told = await ended(project, id);
  expect(names(told)).toEqual(["session_start", "pre_turn", "on_interrupt", "post_turn", "session_end"]);
  expect(told.at(-2)).toMatchObject({ reason: "cancelled" });
});

it("start and end come together, also without a turn, with a blocked one, and after a restart", {
  tags: "slow",
}, async () => {
  const project = await testProject(files);
  const first = await project.start();
  const idle = await createSession(first.client);
  await first.client.call("closeSession", { path: { session: idle.id } });
  expect(names(await ended(project, idle.id))).toEqual(["session_start", "session_end"]);

  const blocked = await createSession(first.client);
  await say(first.client, blocked.id, "forbidden");
  await waitUntil("it is refused", async () => (await endings(first.client, blocked.id))[0] === "refused");
  await first.client.call("closeSession", { path: { session: blocked.id } });
  expect(names(await ended(project, blocked.id))).toEqual(["session_start", "pre_turn", "post_turn", "session_end"]);

  const kept = await createSession(first.client);
  await talk(first.client, kept.id, "hello");
  await first.kill();
  const second = await project.start();
  await second.client.call("closeSession", { path: { session: kept.id } });
  const told = await ended(project, kept.id);
  expect(names(told.filter(({ event }) => event.startsWith("session_")))).toEqual([
    "session_start",
    "session_start",
    "session_end",
  ]);
  expect(told.at(-2)).toMatchObject({ event: "session_start", resumed: true });
});
