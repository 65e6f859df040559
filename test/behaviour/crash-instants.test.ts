// @module-tag slow
/**
 * Kills the daemon at every instant between the moment a message is admitted and the end of its turn, one life for each, per
 * driver and per habit of a harness. Counts the prompts that the harness itself received.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Client } from "@aegis/client/client.ts";
import { waitForMessage } from "@aegis/client/wait.ts";
import { newId, type SessionId } from "@aegis/contract/ids.ts";
import { describe, expect, it } from "vitest";
import { nativeConfig } from "../helpers/fake-models/config.ts";
import { openaiChatWire } from "../helpers/fake-models/openai-chat.ts";
import { type FakeModels, fakeModels } from "../helpers/fake-models/server.ts";
import { obedient, type Project, testProject } from "../helpers/project.ts";
import { acp, claude, codex, type Harness, homeOf, projectWith, works } from "../helpers/projects/harnesses.ts";
import { scaled } from "../helpers/slowness.ts";
import { answerTo, endings, eventsOf, messages, talk } from "../helpers/talk.ts";

const preload = pathToFileURL(join(import.meta.dirname, "kill-at.ts")).href;
const marks = /has no record of it|cannot tell whether you received it/;

/** How a test sees what an agent was sent. */
type Subject = {
  project(): Promise<Project>;
  /** What the agent received, all conversations together. */
  prompts(project: Project, client: Client, session: SessionId): Promise<string[]>;
};

const ofHarness = (harness: Harness): Subject => ({
  project: () => projectWith(harness),
  prompts: (project) => harness.prompts(homeOf(project)),
});

function native(): Subject {
  let models: FakeModels | null = null;
  return {
    async project() {
      models = await fakeModels(openaiChatWire, () => ({ text: "pong" }));
      return testProject({ ".aegis.yaml": nativeConfig(models) });
    },
    // The last request shows the whole conversation.
    prompts: async () => models?.requests.at(-1)?.transcript ?? [],
  };
}

/** It says what it was sent; what it said in a turn that was cut does not count. */
const scripted: Subject = {
  project: () => testProject(obedient),
  async prompts(_, client, session) {
    const ends = await eventsOf(client, "turn.ended", session);
    return ends.filter(({ data }) => data.reason === "completed").map(({ data }) => data.text);
  },
};

/** One life. False when the message was answered before so many instants had passed. */
async function killedAt(subject: Subject, last: number): Promise<boolean> {
  const project = await subject.project();
  const file = join(project.dir, "..", "kill-at");
  const first = await project.start({ env: { NODE_OPTIONS: `--import=${preload}`, KILL_AT: file } });
  const { session } = await first.client.call("createSession", { body: {} });
  await talk(first.client, session.id, "do:reply");
  await writeFile(file, String(last));
  const body = { id: newId("msg", Date.now()), text: "do:reply the work" };
  const path = { session: session.id };
  const receipt = { message: body.id, session: session.id };
  const gone = new AbortController();
  void first.exited.then(() => gone.abort());
  const send = async () => {
    await first.client.call("sendMessage", { path, body });
    await waitForMessage(first.client, body.id, session.id, { signal: gone.signal });
  };
  const problem = await send().then(
    () => null,
    (error: unknown) => error,
  );
  const passed = async () => (await readFile(`${file}.instants`, "utf8")).split("\n").length - 1;
  if (problem === null && (await passed()) < last) return false;
  // The end of the turn may be followed by instants of its own.
  await first.exited;

  const { client } = await project.start();
  // A sender that got no receipt sends the message again, under the same id.
  await client.call("sendMessage", { path, body });
  const instants = await readFile(`${file}.instants`, "utf8");
  const where = `killed at instant ${last}: ${instants.trim().split("\n").join(", ")}`;
  expect(await answerTo(client, receipt, 60_000), where).not.toBe("");
  const received = works(await subject.prompts(project, client, session.id));
  const unmarked = received.filter((text) => !marks.test(text));
  expect(received.length, where).toBeGreaterThan(0);
  expect(unmarked.length, `${where}\n${received.join("\n---\n")}`).toBeLessThan(2);
  expect(received.length - unmarked.length, where).toBeLessThan(2);
  expect(
    (await messages(client, session.id)).map(({ status }) => status),
    where,
  ).toEqual(["done", "done"]);
  expect((await endings(client, session.id)).at(-1), where).toBe("completed");
  return true;
}

/** Lives that run side by side. */
const width = 2;
/** `npm test` takes one of so many instants, for each subject others; CI sets the variable and takes all. */
const stride = process.env.AEGIS_EVERY_INSTANT === "1" ? 1 : 4;

/** How many instants there are, as far as they were tried. The first is the commit that admits the message. */
async function instants(subject: () => Subject, offset: number): Promise<number> {
  for (let from = 1 + (offset % stride); ; from += width * stride) {
    const wave = Array.from({ length: width }, (_, place) => killedAt(subject(), from + place * stride));
    const killed = await Promise.all(wave);
    if (killed.includes(false)) return from + (killed.filter(Boolean).length - 1) * stride;
  }
}

describe("a message reaches its agent once, or again with a mark, wherever the daemon is killed", () => {
  it.each<[string, () => Subject, number, number]>([
    ["ACP, replays", () => ofHarness(acp()), 6, 0],
    ["ACP, silent when it loads", () => ofHarness(acp("--silent-load")), 6, 1],
    ["ACP, resumes without a replay", () => ofHarness(acp("--resume", "--no-load")), 6, 2],
    ["ACP, refuses to load", () => ofHarness(acp("--stale")), 6, 3],
    ["ACP, cannot load", () => ofHarness(acp("--no-load")), 6, 0],
    ["Claude Code", () => ofHarness(claude), 6, 1],
    ["Codex", () => ofHarness(codex), 6, 2],
    ["native", native, 5, 3],
    ["scripted", () => scripted, 3, 0],
  ])("%s", { timeout: scaled(240_000) }, async (_, subject, atLeast, offset) => {
    expect(await instants(subject, offset)).toBeGreaterThan(atLeast - stride);
  });
});
