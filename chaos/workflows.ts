/**
 * Runs of workflows that send, delegate and wait, cut by kills at random instants. What the world saw afterwards must be
 * what one uninterrupted run of each would have shown it.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "@aegis/client/client.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import { newId, type RunId } from "@aegis/contract/ids.ts";
import type { Finding } from "./check.ts";
import { throwUnlessGone } from "./load.ts";
import { type Checked, goOn, type Scenario, until, type Work } from "./scenario.ts";

/** With more, none gets on in lives as short as these, and the kills meet the same few steps over and over. */
const mostUnfinished = 4;
const drainDeadlineMs = 300_000;
const notes = ["first", "left", "right", "last"] as const;
const members = 2;

/** Sends, delegates and asks a group, one after the other and side by side, before and after a checkpoint, with a wait. */
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
  await engine.spawnGroup(token, Array(${members}).fill("noter"));
  await engine.broadcast(token, "note " + token + " asked");
  const { by_member } = await engine.waitAll(token);
  const last = await engine.send(agent, "note " + token + " last");
  const replies = Object.values(by_member).map((reply) => reply.text);
  return [first, ...sides.slice(0, 2), last, ...replies].join(", ");
});
`;

type Started = { id: RunId; token: string; acknowledged: boolean };

export class Workflows implements Scenario {
  readonly files = { ".aegis/plugins/chain.ts": plugin };
  readonly #started: Started[] = [];

  async prepare(): Promise<void> {}

  load(client: Client): Work {
    return goOn((signal) => this.#keepStarting(client, signal));
  }

  async finish(): Promise<void> {}

  drained(client: Client): Promise<void> {
    const waiting = new Set(this.#owed().map((run) => run.id));
    return until("the end of all runs", drainDeadlineMs, async () => {
      for (const id of [...waiting].slice(0, mostUnfinished)) {
        const { run } = await client.call("getRun", { path: { run: id } });
        if (run.status !== "running") waiting.delete(id);
      }
      return waiting.size === 0;
    });
  }

  async check(events: readonly Event[]): Promise<Checked> {
    const owed = this.#owed();
    return { findings: check(owed, events), counts: { "workflow runs": owed.length } };
  }

  progress(): string {
    return `${this.#owed().length} runs of a workflow`;
  }

  /** A run whose start was not answered may or may not be there: no caller was promised one. */
  #owed(): Started[] {
    return this.#started.filter((run) => run.acknowledged);
  }

  async #keepStarting(client: Client, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const { runs } = await client.call("listRuns", { query: { status: "running", limit: "200" }, signal });
        if (runs.length >= mostUnfinished) {
          await delay(20);
          continue;
        }
        const id = newId("run", Date.now());
        const run: Started = { id, token: `chain-${id.slice(4)}`, acknowledged: false };
        this.#started.push(run);
        await client.call("startRun", {
          path: { workflow: "chain" },
          body: { id, args: { token: run.token } },
          signal,
        });
        run.acknowledged = true;
      } catch (error) {
        // Until the plugin is loaded there is no such workflow.
        if (!isAegisError(error) || error.code !== "not_found") throwUnlessGone(error);
        await delay(10);
      }
    }
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
      const [, token, what] = /^(?:objective: )?note (\S+) (\S+)/.exec(event.data.message.body) ?? [];
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
    const replies = Array<string>(members).fill(`asked of ${token}`);
    const expected = [...notes.map((what) => `${what} of ${token}`), ...replies].join(", ");
    const end = ends.get(id) ?? [];
    if (end.length !== 1)
      findings.push({ kind: end.length === 0 ? "lost" : "doubled", what: `${id} ended ${end.length} times` });
    const [only] = end;
    if (only?.type === "run.ended" && only.data.result !== expected)
      findings.push({ kind: "unanswered", what: `${id} ended with ${JSON.stringify(only.data)}` });
    for (const what of [...notes, "asked"]) {
      const times = noted.get(`${token} ${what}`) ?? 0;
      const due = what === "asked" ? members : 1;
      if (times !== due)
        findings.push({ kind: times < due ? "lost" : "doubled", what: `"${what}" of ${id} was sent ${times} times` });
    }
    const tasks = done.get(token) ?? 0;
    if (tasks !== 1)
      findings.push({ kind: tasks === 0 ? "lost" : "doubled", what: `the task of ${id} ended ${tasks} times` });
    return findings;
  });
}
