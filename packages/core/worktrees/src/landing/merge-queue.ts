/**
 * The order of landings: one at a time on this node, first in, first out. A landing of a session that is working waits
 * for the end of the turn and lets others pass. People see, pause, resume, drain and cancel it like task queues.
 */
import { AegisError } from "@aegis/contract/errors.ts";
import type { LandingId } from "@aegis/contract/ids.ts";
import { type Landing, type LandingState, mergeQueueName, openLandings } from "@aegis/contract/landing.ts";
import type { QueueView } from "@aegis/contract/task.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { Drains } from "@aegis/lib/serial.ts";
import { isHere } from "@aegis/nodes/node-of.ts";
import { until } from "@aegis/sessions/until.ts";
import type { Store, StoreTx } from "@aegis/store/store.ts";

export type MergeQueueOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  signal: AbortSignal;
  /** Carries out a landing that has left the state `new`, until it has ended or waits again. */
  run: (landing: Landing) => Promise<Landing>;
};

export type DrainLimits = { signal: AbortSignal; timeoutMs?: number | undefined };

export class MergeQueue {
  readonly #options: MergeQueueOptions;
  /** For the callers that wait for a landing: aborted if it stopped without an end. */
  readonly #callers = new Map<LandingId, AbortController>();
  /** Landings that stopped without an end. The next start of the daemon continues them. */
  readonly #stopped = new Set<LandingId>();
  /** Landings that may not have ended, of every node. */
  readonly #open = new Set<LandingId>();
  readonly #work: Drains<typeof mergeQueueName>;

  constructor(options: MergeQueueOptions) {
    this.#options = options;
    const { store, signal, log } = options;
    this.#work = new Drains(
      () => this.#runAll(),
      (_, error) => {
        if (!signal.aborted) log.error("the merge queue stopped", { error: errorText(error) });
      },
    );
    store.onCommit(
      (events) => {
        for (const event of events)
          if (event.type === "land.queued") this.#open.add(event.data.landing);
          else if (event.type === "land.ended") this.#open.delete(event.data.landing);
      },
      ["land.queued", "land.ended"],
    );
    store.onCommit(() => this.nudge(), ["queue.resumed", "turn.ended"], "all", this.#open);
  }

  /** Resolves when the landing has ended. */
  async ended(id: LandingId): Promise<Landing> {
    const { store, clock, signal } = this.#options;
    const stopped = new AbortController();
    this.#callers.set(id, stopped);
    this.nudge();
    try {
      const found = await until({
        store,
        clock,
        deadline: null,
        signal: AbortSignal.any([signal, stopped.signal]),
        look: async () => {
          const row = await store.read.landings.get(id);
          return row === null || row.ended_at === null ? null : row;
        },
        mayChange: ({ type }) => type === "land.ended",
      });
      if (found === null) throw new AegisError("not_found", `no landing ${id}`);
      return found;
    } finally {
      this.#callers.delete(id);
    }
  }

  /** Continues the landings that an earlier daemon left. */
  async start(): Promise<void> {
    for (const { id } of await this.#options.store.read.landings.open()) this.#open.add(id);
    this.nudge();
  }

  /** Starts the next landing if none runs. */
  nudge(): void {
    if (!this.#options.signal.aborted) this.#work.wake(mergeQueueName);
  }

  async #runAll(): Promise<void> {
    const { signal } = this.#options;
    for (let row = await this.#next(); row !== null && !signal.aborted; row = await this.#next()) await this.#run(row);
  }

  async #run(row: Landing): Promise<void> {
    const { signal, log, run } = this.#options;
    const { id } = row;
    try {
      await run(row);
    } catch (error) {
      if (!signal.aborted) log.error("a landing stopped", { id, error: errorText(error) });
      this.#stopped.add(id);
      this.#callers.get(id)?.abort(error);
    }
  }

  /** Takes what an earlier daemon began first, then the first that waits. */
  async #next(): Promise<Landing | null> {
    const { store, clock } = this.#options;
    if ((await store.read.landings.open()).every(({ id }) => this.#stopped.has(id))) return null;
    return store.transact(async (tx) => {
      const open = (await tx.landings.open()).filter(({ id }) => !this.#stopped.has(id));
      const begun = open.filter(({ state }) => state !== "new");
      const waiting = (await isPaused(tx)) ? [] : open.filter(({ state }) => state === "new");
      for (const row of [...begun, ...waiting]) {
        const session = await tx.sessions.get(row.session);
        if (!isHere(store, session)) continue;
        if (row.state !== "new") return row;
        if (session?.state === "working") continue;
        const started: Landing = { ...row, state: "planning" };
        await tx.landings.update(started);
        const { id: landing, session: of, target } = row;
        await tx.events.append({ type: "land.started", session: of, data: { landing, target } }, clock.now());
        return started;
      }
      return null;
    });
  }

  /** Throws `conflict` if the landing does not wait. */
  async cancel(id: LandingId): Promise<Landing> {
    const { store, clock } = this.#options;
    return store.transact(async (tx) => {
      const row = await tx.landings.get(id);
      if (row === null) throw new AegisError("not_found", `no landing ${id}`, { hint: "`aegis land` lists them" });
      if (row.ended_at !== null) throw new AegisError("conflict", `landing ${id} has ended: ${row.state}`);
      if (row.state !== "new")
        throw new AegisError("conflict", `landing ${id} has begun; only one that waits can be cancelled`);
      const cancelled: Landing = { ...row, state: "cancelled", detail: null, ended_at: clock.now() };
      await tx.landings.update(cancelled);
      await tx.events.append(endOf(cancelled), clock.now());
      return cancelled;
    });
  }

  /** Positions of the landings that wait, from 1. */
  async positions(): Promise<ReadonlyMap<LandingId, number>> {
    const open = await this.#options.store.read.landings.open();
    return new Map(open.filter(({ state }) => state === "new").map(({ id }, index) => [id, index + 1]));
  }

  /** Empty until the project uses it. */
  async list(): Promise<QueueView[]> {
    const view = await this.queue();
    const isUsed = view.paused || Object.values(view.tasks).some((count) => count > 0);
    return isUsed ? [view] : [];
  }

  /** `tasks` counts landings. */
  async queue(): Promise<QueueView> {
    const { read } = this.#options.store;
    const counts = await read.landings.counts();
    const sum = (states: readonly LandingState[]) =>
      states.reduce((total, state) => total + (counts.get(state) ?? 0), 0);
    return {
      name: mergeQueueName,
      source: "built-in",
      settings: null,
      paused: await isPaused(read),
      tasks: {
        pending: sum(["new"]),
        dispatched: sum(openLandings.filter((state) => state !== "new")),
        completed: sum(["landed", "nothing"]),
        failed: sum(["failed", "conflict", "waiting"]),
        cancelled: sum(["cancelled"]),
      },
      budgets: [],
      blocked_by: [],
      unblock_at: null,
    };
  }

  /** Starts no landing until it is resumed, also after a restart. */
  pause(): Promise<QueueView> {
    return this.#setPaused(true);
  }

  async resume(): Promise<QueueView> {
    const view = await this.#setPaused(false);
    this.nudge();
    return view;
  }

  /** Resolves with true when no landing is left, or with false after the timeout. */
  async drain(_name: string, { signal, timeoutMs }: DrainLimits): Promise<boolean> {
    const { store, clock } = this.#options;
    const empty = await until({
      store,
      clock,
      signal: AbortSignal.any([signal, this.#options.signal]),
      look: async () => ((await store.read.landings.open()).length === 0 ? true : null),
      mayChange: ({ type }) => type === "land.ended",
      deadline: timeoutMs === undefined ? null : clock.now() + timeoutMs,
    });
    return empty ?? false;
  }

  async #setPaused(paused: boolean): Promise<QueueView> {
    const { store, clock } = this.#options;
    await store.transact(async (tx) => {
      if ((await isPaused(tx)) === paused) return;
      await tx.queues.put({ name: mergeQueueName, settings: null, paused });
      const type = paused ? "queue.paused" : "queue.resumed";
      await tx.events.append({ type, session: null, data: { queue: mergeQueueName } }, clock.now());
    });
    return this.queue();
  }
}

/** The event of a landing's end. */
export function endOf({ id, session, target, state, files, detail }: Landing) {
  return { type: "land.ended", session, data: { landing: id, target, state, files, detail } } as const;
}

async function isPaused({ queues }: Pick<StoreTx, "queues"> | Store["read"]): Promise<boolean> {
  return (await queues.get(mergeQueueName))?.paused ?? false;
}
