/**
 * Starts, watches, stops and ends claimed firings. The stored row determines the next step, so that recovery after a
 * crash uses the same code.
 */
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { FiringId } from "@aegis/contract/ids.ts";
import type { Firing } from "@aegis/contract/schedule.ts";
import { endEvents } from "@aegis/delegation/work/session-events.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { Drains } from "@aegis/lib/serial.ts";
import { nodeOf } from "@aegis/nodes/node-of.ts";
import type { Store } from "@aegis/store/store.ts";
import type { Transact } from "@aegis/store/transact.ts";
import { promote } from "./claims.ts";
import type { Effects, FiringOutcome } from "./effects.ts";

export type FiringsOptions = {
  store: Store;
  transact: Transact;
  clock: Clock;
  log: Logger;
  effects: Effects;
  /** The reason why a schedule must not fire now, or null. */
  refusal: (name: string) => Promise<string | null>;
  /** Called when a firing changed and timeouts must be computed again. */
  onWatch: () => void;
};

/** Characters of a result that are stored here. The run, the task or the session has all of it. */
const resultKept = 500;

export class Firings {
  readonly #options: FiringsOptions;
  readonly #work: Drains<FiringId>;
  /** Running firings by the id of their work. */
  readonly #watched = new Map<string, { id: FiringId; deadline: number | null }>();
  readonly #forget: () => void;

  constructor(options: FiringsOptions) {
    this.#options = options;
    this.#work = new Drains<FiringId>(
      (id, signal) => this.#advance(id, signal),
      (id, error) => options.log.error("a firing could not be processed", { firing: id, error: errorText(error) }),
    );
    this.#forget = options.store.onCommit((events) => this.#notice(events), effectTypes, "all", this.#watched);
  }

  get isWatching(): boolean {
    return this.#watched.size > 0;
  }

  /** Starts or continues a firing. Idempotent. */
  wake(id: FiringId): void {
    this.#work.wake(id);
  }

  /** Continues all firings that have not ended. */
  async resume(): Promise<void> {
    const { store } = this.#options;
    const open = await store.read.firings.unfinishedOf(nodeOf(store));
    for (const schedule of new Set(open.map((firing) => firing.schedule))) {
      const next = await store.transact((tx) => promote(tx, schedule));
      if (next !== null) this.wake(next);
    }
    await this.recheck();
  }

  /** Checks all open firings again, for changes that have no event. */
  async recheck(): Promise<void> {
    const { store } = this.#options;
    const open = await store.read.firings.unfinishedOf(nodeOf(store));
    for (const firing of open) if (firing.status !== "waiting") this.wake(firing.id);
  }

  /** Stops firings that reached their timeout. Returns the time of the next check, or null. */
  async expire(): Promise<number | null> {
    const now = this.#options.clock.now();
    for (const { id, deadline } of this.#watched.values()) {
      if (deadline === null || deadline > now) continue;
      const firing = await this.#options.store.read.firings.get(id);
      if (firing === null || firing.ended_at !== null || firing.stopping !== null) continue;
      const stopping = `timeout: it did not finish within ${firing.timeout} s`;
      await this.#options.store.transact((tx) => tx.firings.update(id, { stopping }));
      this.wake(id);
    }
    const left = [...this.#watched.values()].flatMap(({ deadline }) =>
      deadline !== null && deadline > now ? [deadline] : [],
    );
    return left.length === 0 ? null : Math.min(...left);
  }

  /** Starts no more firings. The next daemon start continues the running ones. */
  async stop(): Promise<void> {
    this.#forget();
    await this.#work.stop();
    this.#watched.clear();
  }

  async #advance(id: FiringId, signal: AbortSignal): Promise<void> {
    const firing = await this.#options.store.read.firings.get(id);
    if (signal.aborted || firing === null || firing.ended_at !== null || firing.status === "waiting") return;
    const running = firing.status === "running" ? firing : await this.#start(firing);
    if (running === null) return;
    this.#watch(running);
    if (running.stopping !== null) await this.#options.effects.stop(running, running.stopping);
    const outcome = await this.#options.effects.look(running);
    if (outcome !== null) await this.#end(running, outcome);
  }

  async #start(firing: Firing): Promise<Firing | null> {
    const { effects, transact, clock, log } = this.#options;
    let effect: string;
    try {
      const refusal = await this.#options.refusal(firing.schedule);
      if (refusal !== null) throw new AegisError("forbidden", refusal);
      effect = await effects.start(firing);
    } catch (error) {
      if (!isAegisError(error) || error.code === "storage_full" || error.code === "unavailable") throw error;
      const hint = error.hint === undefined ? "" : ` (${error.hint})`;
      await this.#end(firing, { status: "error", result: null, error: `could not start: ${error.message}${hint}` });
      return null;
    }
    const { id, schedule } = firing;
    const running = await transact(async (tx) => {
      const now = clock.now();
      await tx.firings.update(id, { status: "running", effect, started_at: now });
      const data = { schedule, firing: id, effect };
      await tx.events.append({ type: "schedule.started", session: null, data }, now);
      return tx.firings.get(id);
    });
    log.info("a schedule fired", { schedule, firing: id, effect });
    return running;
  }

  /** One transaction ends a firing and starts the next waiting one, so that none is skipped by a crash. */
  async #end(firing: Firing, outcome: FiringOutcome): Promise<void> {
    const { transact, clock, effects } = this.#options;
    const { id, schedule } = firing;
    const done = await transact(async (tx) => {
      const row = await tx.firings.get(id);
      if (row === null || row.ended_at !== null) return null;
      const settled = outcome.settle === undefined ? { closed: null } : await outcome.settle(tx);
      if (settled === null) return null;
      const now = clock.now();
      const status = row.stopping === null ? outcome.status : "error";
      const error = row.stopping ?? outcome.error;
      const result = outcome.result === null ? null : outcome.result.slice(0, resultKept);
      await tx.firings.end(id, { status, result, error, at: now });
      const duration_ms = row.started_at === null ? 0 : now - row.started_at;
      const data = { schedule, firing: id, status, result, error, duration_ms };
      await tx.events.append({ type: "schedule.ended", session: null, data }, now);
      return { closed: settled.closed, next: await promote(tx, schedule) };
    });
    if (done === null) return;
    this.#watched.delete(effects.idOf(firing));
    if (done.next !== null) this.wake(done.next);
    await effects.leave(done.closed);
  }

  #watch(firing: Firing): void {
    const { timeout, started_at } = firing;
    const deadline = timeout === null || started_at === null ? null : started_at + timeout * 1_000;
    const effect = this.#options.effects.idOf(firing);
    const before = this.#watched.has(effect);
    this.#watched.set(effect, { id: firing.id, deadline });
    if (!before) this.#options.onWatch();
  }

  /** Events are only hints; the stored rows decide. */
  #notice(events: readonly Event[]): void {
    for (const event of events) {
      const effect = effectOf(event);
      const watched = effect === null ? undefined : this.#watched.get(effect);
      if (watched !== undefined) this.wake(watched.id);
    }
  }
}

/** The event types that `effectOf` handles. */
const effectTypes: readonly Event["type"][] = [
  "run.ended",
  "task.ended",
  "turn.ended",
  "session.closed",
  "ask.settled",
  "message.cancelled",
  "subagent.ended",
];

function effectOf(event: Event): string | null {
  switch (event.type) {
    case "run.ended":
      return event.data.run;
    case "task.ended":
      return event.data.task;
    default:
      return endEvents.has(event.type) ? event.session : null;
  }
}
