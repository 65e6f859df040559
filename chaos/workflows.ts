/**
 * Runs of workflows that send, delegate and wait, cut by kills at random instants. What the world saw afterwards must be
 * what one uninterrupted run of each would have shown it.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../src/client/client.ts";
import { isAegisError } from "../src/contract/errors.ts";
import type { Event } from "../src/contract/event.ts";
import { newId, type RunId } from "../src/contract/ids.ts";
import { type Finding, readAllEvents } from "./check.ts";
import { startDaemon } from "./daemon.ts";
import type { Random } from "./random.ts";

const longestLifeMs = 400;
const mostUnfinished = 20;
const drainDeadlineMs = 300_000;
const notes = ["first", "left", "right", "last"] as const;

const config = `
default_agent: noter
messages: { max_per_minute: 1000000 }
agents:
  noter: { harness: scripted, playbook: noter.yaml }
queues:
  work: { agent: noter, max_parallel: 4, retries: 100 }
`;

const playbook = `
rules:
  - name: note
    when: '/^note (\\S+) (\\S+)/m'
    steps: [{ say: "{2} of {1}" }]
`;

/** Sends and delegates one after the other and side by side, before and after a checkpoint, with a wait. */
const plugin = `
import { workflow, z } from "aegis";

export const chain = workflow("chain", { input: z.object({ token: z.string() }) }, async (engine, { token }) => {
  const agent = await engine.spawn("noter");
  const first = await engine.send(agent, "note " + token + " first");
  const sides = await engine.parallel([
    () => engine.send(agent, "note " + token + " left"),
    async () => {
      await engine.sleep(0.005);
      const other = await engine.spawn("noter");
      return engine.send(other, "note " + token + " right");
    },
    () => engine.delegate("work", "task " + token),
  ]);
  await engine.checkpoint("half", { first });
  const last = await engine.send(agent, "note " + token + " last");
  return [first, ...sides.slice(0, 2), last].join(", ");
});
`;

export type WorkflowChaos = { rounds: number; random: Random; say: (line: string) => void };

type Started = { id: RunId; token: string; acknowledged: boolean };

export async function killWorkflows(
  project: string,
  { rounds, random, say }: WorkflowChaos,
): Promise<{ runs: number; findings: Finding[] }> {
  await writeFile(join(project, ".aegis.yaml"), config);
  await writeFile(join(project, "noter.yaml"), playbook);
  await mkdir(join(project, ".aegis", "plugins"), { recursive: true });
  await writeFile(join(project, ".aegis", "plugins", "chain.ts"), plugin);
  const started: Started[] = [];
  const ended = new Set<string>();
  for (let round = 1; round <= rounds; round++) {
    const daemon = await startDaemon(project);
    const stop = new AbortController();
    const load = keepStarting(daemon.client, started, ended, stop.signal);
    await delay(random.between(0, longestLifeMs));
    stop.abort();
    await daemon.kill();
    await load;
    if (round % 50 === 0) say(`  round ${round}: ${started.length} runs started, ${ended.size} seen to end`);
  }
  const daemon = await startDaemon(project);
  try {
    const owed = started.filter((run) => run.acknowledged);
    await allEnded(daemon.client, owed);
    return { runs: owed.length, findings: check(owed, await readAllEvents(daemon.client)) };
  } finally {
    await daemon.kill();
  }
}

/** Never throws for a daemon that dies: that is what it is here for. */
async function keepStarting(
  client: Client,
  started: Started[],
  ended: Set<string>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const { runs } = await client.call("listRuns", { query: { limit: "200" }, signal });
      for (const run of runs) if (run.status !== "running") ended.add(run.id);
      if (runs.filter((run) => run.status === "running").length >= mostUnfinished) {
        await delay(20);
        continue;
      }
      const id = newId("run", Date.now());
      const run: Started = { id, token: `token-${id.slice(4)}`, acknowledged: false };
      started.push(run);
      await client.call("startRun", { path: { workflow: "chain" }, body: { id, args: { token: run.token } }, signal });
      run.acknowledged = true;
    } catch (error) {
      // Until the plugin is loaded there is no such workflow.
      if (isAegisError(error) && error.code === "not_found") await delay(10);
      else if (isAegisError(error) && error.code !== "unavailable") throw error;
      else return;
    }
  }
}

async function allEnded(client: Client, runs: readonly Started[]): Promise<void> {
  const deadline = performance.now() + drainDeadlineMs;
  const waiting = new Set(runs.map((run) => run.id));
  while (waiting.size > 0) {
    if (performance.now() > deadline) throw new Error(`${waiting.size} runs did not end in time: ${[...waiting][0]}`);
    for (const id of [...waiting].slice(0, 20)) {
      const { run } = await client.call("getRun", { path: { run: id } });
      if (run.status !== "running") waiting.delete(id);
    }
    await delay(50);
  }
}

function check(runs: readonly Started[], events: readonly Event[]): Finding[] {
  const ends = new Map<string, Event[]>();
  const noted = new Map<string, number>();
  const tokens = new Map<string, string>();
  const done = new Map<string, number>();
  for (const event of events) {
    if (event.type === "run.ended") ends.set(event.data.run, [...(ends.get(event.data.run) ?? []), event]);
    if (event.type === "message.admitted") {
      const [, token, what] = /^note (\S+) (\S+)/.exec(event.data.message.body) ?? [];
      if (token !== undefined) noted.set(`${token} ${what}`, (noted.get(`${token} ${what}`) ?? 0) + 1);
    }
    if (event.type === "task.enqueued") {
      const [, token] = /^task (\S+)/.exec(event.data.task.payload) ?? [];
      if (token !== undefined) tokens.set(event.data.task.id, token);
    }
    if (event.type === "task.ended") {
      const token = tokens.get(event.data.task) ?? "";
      done.set(token, (done.get(token) ?? 0) + 1);
    }
  }
  return runs.flatMap(({ id, token }): Finding[] => {
    const findings: Finding[] = [];
    const expected = notes.map((what) => `${what} of ${token}`).join(", ");
    const end = ends.get(id) ?? [];
    if (end.length !== 1)
      findings.push({ kind: end.length === 0 ? "lost" : "doubled", what: `${id} ended ${end.length} times` });
    const [only] = end;
    if (only?.type === "run.ended" && only.data.result !== expected)
      findings.push({ kind: "unanswered", what: `${id} ended with ${JSON.stringify(only.data)}` });
    for (const what of notes) {
      const times = noted.get(`${token} ${what}`) ?? 0;
      if (times !== 1)
        findings.push({ kind: times === 0 ? "lost" : "doubled", what: `"${what}" of ${id} was sent ${times} times` });
    }
    const tasks = done.get(token) ?? 0;
    if (tasks !== 1)
      findings.push({ kind: tasks === 0 ? "lost" : "doubled", what: `the task of ${id} ended ${tasks} times` });
    return findings;
  });
}
