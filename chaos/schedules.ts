/** Schedules that fire once at a moment which may fall into the death of a daemon, and one that fires every minute. */
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "@aegis/client/client.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import { newId } from "@aegis/contract/ids.ts";
import type { Firing, ScheduleEntry } from "@aegis/contract/schedule.ts";
import { collect, exactlyOne, type Finding, messagesOf, turnEnds } from "./check.ts";
import { throwUnlessGone } from "./load.ts";
import type { Random } from "./random.ts";
import { type Checked, goOn, type Scenario, until, type Work } from "./scenario.ts";

type Added = { name: string; token: string; kind: "queue" | "agent"; acknowledged: boolean; round: number };

const mostUnfinished = 3;
const longestAheadMs = 1_000;
const minute = 60_000;
/** Schedules that are there from the beginning, due at some time while the rounds last at least. */
const mostDeclared = 100;
const firstDeclaredMs = 5_000;

export type SchedulesOptions = {
  rounds: number;
  /** How long a round takes at least. */
  roundMs?: number;
  /** Whether schedules are added while daemons run. The nodes of a cluster need the same files. */
  adds?: boolean;
};

export class Schedules implements Scenario {
  readonly files: Record<string, string> = {};
  readonly #random: Random;
  readonly #added: Added[] = [];
  /** Those whose firing has ended are taken out of the project, or every start would read them all. */
  readonly #unfinished = new Set<Added>();

  readonly #adds: boolean;

  constructor(random: Random, { rounds, roundMs = 1_000, adds = true }: SchedulesOptions) {
    this.#random = random;
    this.#adds = adds;
    for (let index = 1; index <= Math.min(mostDeclared, rounds); index++) {
      const added = { ...this.#fresh(0), acknowledged: true };
      this.#added.push(added);
      const ahead = firstDeclaredMs + this.#random.between(0, rounds * roundMs);
      this.files[`.aegis/schedules/${added.name}.yaml`] = JSON.stringify(entryOf(added, ahead));
    }
  }

  async prepare(): Promise<void> {}

  load(client: Client, round: number): Work {
    return goOn(async (signal) => {
      if (this.#adds) await this.#keepAdding(client, round, signal);
    });
  }

  async finish(): Promise<void> {}

  drained(client: Client): Promise<void> {
    return until("the end of all firings", 300_000, async () => {
      await this.#removeEnded(client, new AbortController().signal);
      const owed = [...this.#unfinished].filter(({ acknowledged }) => acknowledged);
      const { firings } = await client.call("listFirings", { query: { limit: "1000" } });
      const { schedules } = await client.call("listSchedules");
      const isDone = schedules.every(({ cron, state }) => cron !== null || state === "done");
      return owed.length === 0 && isDone && firings.every(({ ended_at }) => ended_at !== null);
    });
  }

  async check(events: readonly Event[]): Promise<Checked> {
    const fired = collect(events, ({ type, data }) => (type === "schedule.fired" ? [data.schedule, data] : null));
    const skipped = collect(events, ({ type, data }) => (type === "schedule.skipped" ? [data.schedule, data] : null));
    const ended = collect(events, ({ type, data }) => (type === "schedule.ended" ? [data.schedule, data] : null));
    const tasks = collect(events, ({ type, data }) => (type === "task.enqueued" ? [data.task.payload, data] : null));
    const messages = Map.groupBy([...messagesOf(events).values()].flat(), ({ body }) => body);
    const ends = turnEnds(events);
    const owed = this.#added.filter(({ name, acknowledged }) => acknowledged || fired.has(name));
    const findings = owed.flatMap(({ name, token, kind, round }): Finding[] => {
      const what = `schedule ${name}, added in round ${round}`;
      const text = `note ${token} slot`;
      const told = messages.get(text) ?? [];
      const answers = told.flatMap(({ id }) => ends.get(id) ?? []).filter(({ reason }) => reason === "completed");
      return [
        ...exactlyOne(fired.get(name)?.length ?? 0, `the firing of ${what}`),
        ...exactlyOne(ended.get(name)?.length ?? 0, `the end of ${what}`),
        ...(kind === "queue"
          ? exactlyOne(tasks.get(text)?.length ?? 0, `the task of ${what}`)
          : [
              ...exactlyOne(told.length, `the message of ${what}`),
              ...exactlyOne(answers.length, `the answer to the message of ${what}`),
            ]),
      ];
    });
    const minutely = (fired.get("minutely") ?? []).map(({ firing }) => firing);
    findings.push(...checkSlots(minutely, (skipped.get("minutely") ?? []).length));
    return { findings, counts: { "schedules fired": owed.length, "slots of a cron schedule": minutely.length } };
  }

  progress(): string {
    return `${this.#added.length} schedules`;
  }

  async #keepAdding(client: Client, round: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const owed = [...this.#unfinished].filter(({ acknowledged }) => acknowledged).length;
        if (owed < mostUnfinished) await this.#add(client, round, signal);
        await this.#removeEnded(client, signal);
      } catch (error) {
        throwUnlessGone(error);
      }
      await delay(30);
    }
  }

  async #add(client: Client, round: number, signal: AbortSignal): Promise<void> {
    const added = this.#fresh(round);
    const entry = entryOf(added, this.#random.between(0, longestAheadMs));
    this.#added.push(added);
    this.#unfinished.add(added);
    await client.call("addSchedule", { body: { name: added.name, entry }, signal });
    added.acknowledged = true;
  }

  #fresh(round: number): Added {
    const id = newId("msg", Date.now()).slice(4);
    const kind = this.#random.pick(["queue", "agent"] as const);
    return { name: `at-${id}`, token: `slot-${id}`, kind, acknowledged: false, round };
  }

  async #removeEnded(client: Client, signal: AbortSignal): Promise<void> {
    for (const added of this.#unfinished) {
      const firings = await firingsOf(client, added.name, signal);
      if (firings.some(({ ended_at }) => ended_at === null)) continue;
      // One whose addition was not answered may not be there at all.
      if (added.acknowledged && firings.length === 0) continue;
      try {
        await client.call("removeSchedule", { path: { schedule: added.name }, signal });
      } catch (error) {
        if (!isAegisError(error) || error.code !== "not_found") throw error;
      }
      this.#unfinished.delete(added);
    }
  }
}

function entryOf({ token, kind }: Added, aheadMs: number): ScheduleEntry {
  const text = `note ${token} slot`;
  const action = kind === "queue" ? { queue: "chores", payload: text } : { agent: "noter", prompt: text };
  return { ...action, fire_at: new Date(Date.now() + aheadMs).toISOString() };
}

/** None of a schedule that is not there: of one that was added, the check misses them. */
async function firingsOf(client: Client, schedule: string, signal: AbortSignal): Promise<Firing[]> {
  try {
    return (await client.call("listFirings", { query: { schedule, limit: "5" }, signal })).firings;
  } catch (error) {
    if (isAegisError(error) && error.code === "not_found") return [];
    throw error;
  }
}

/** `missed: all` makes up for every slot that passed while no daemon ran. */
function checkSlots(firings: readonly Firing[], skipped: number): Finding[] {
  const slots = firings.map(({ slot }) => slot).sort((a, b) => a - b);
  const findings: Finding[] = [];
  if (skipped > 0) findings.push({ kind: "lost", what: `${skipped} slots of the cron schedule were skipped` });
  for (const [index, slot] of slots.entries()) {
    const before = slots[index - 1];
    if (before === undefined || slot - before === minute) continue;
    const kind = slot === before ? "doubled" : "lost";
    findings.push({
      kind,
      what: `the cron schedule fired for ${new Date(before).toISOString()} and next for ${new Date(slot).toISOString()}`,
    });
  }
  return findings;
}
