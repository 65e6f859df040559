/**
 * Starts tasks: first come, first served within a queue, never more at once than it allows, and within its budgets. What
 * may start is decided and written in one transaction; starting the worker follows.
 */
import { newId, type SessionId } from "../../contract/ids.ts";
import type { QueueSettings, Task } from "../../contract/task.ts";
import type { Clock } from "../../lib/clock.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import type { Persist } from "../../store/persist.ts";
import type { Store, StoreTx } from "../../store/store.ts";
import type { QueueCatalog } from "./catalog.ts";
import { checkBudgets } from "./spending.ts";

export type DispatcherOptions = {
  store: Store;
  persist: Persist;
  clock: Clock;
  log: Logger;
  catalog: QueueCatalog;
  /** Starts the worker of a task that is on record as dispatched. Must not throw. */
  start: (task: Task, worker: SessionId, settings: QueueSettings) => void;
  /** Workers of the queue whose task is over but which are not gone yet. */
  leaving: (queue: string) => number;
};

export type Plan = {
  started: { task: Task; worker: SessionId; settings: QueueSettings }[];
  /** When time alone will allow more. */
  wakeAt: number | null;
};

/** A longer wait is taken in parts: timers count in 32 bits. */
const longestSleepMs = 3_600_000;

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #alarms = new Map<string, { at: number; cancel: AbortController }>();
  #running = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Starts what may start. A hint that is safe to repeat. */
  async pump(queue: string): Promise<void> {
    if (!this.#running) return;
    this.carryOut(queue, await this.#options.persist((tx) => this.plan(tx, queue)));
  }

  /** Starts the workers of what was planned, once that is on record. */
  carryOut(queue: string, { started, wakeAt }: Plan): void {
    for (const { task, worker, settings } of started) this.#options.start(task, worker, settings);
    if (wakeAt !== null) this.#wakeAt(queue, wakeAt);
  }

  /** Decides inside a transaction of the caller what starts, and writes it down. */
  async plan(tx: StoreTx, name: string): Promise<Plan> {
    const planned: Plan = { started: [], wakeAt: null };
    const queue = await this.#options.catalog.find(tx, name);
    // Asked again here: the daemon may have been told to stop while the transaction waited for its turn.
    if (queue === null || queue.paused || !this.#running) return planned;
    const { settings } = queue;
    const now = this.#options.clock.now();
    let running = (await tx.tasks.countDispatched(name)) + this.#options.leaving(name);
    while (running < settings.max_parallel) {
      const task = await tx.tasks.next(name, now);
      if (task === null) {
        planned.wakeAt = await tx.tasks.nextDue(name);
        break;
      }
      const blocked = (await checkBudgets(tx, name, settings.budgets, now)).filter((check) => !check.allowed);
      if (blocked.length > 0) {
        planned.wakeAt = latest(blocked.map((check) => check.unblock_at));
        break;
      }
      planned.started.push({ task, worker: await this.#dispatch(tx, task, now), settings });
      running += 1;
    }
    return planned;
  }

  /** The same when nobody waits for it. */
  nudge(queue: string): void {
    this.pump(queue).catch((error: unknown) => {
      if (this.#running) this.#options.log.error("a queue could not start tasks", { queue, error: errorText(error) });
    });
  }

  /** Nothing is started before this: harnesses need the daemon to listen. */
  async start(): Promise<void> {
    this.#running = true;
    await this.nudgeAll();
  }

  async nudgeAll(): Promise<void> {
    for (const name of await this.#options.catalog.names(this.#options.store.read)) this.nudge(name);
  }

  /** Starts nothing from now on. */
  stop(): void {
    this.#running = false;
    for (const { cancel } of this.#alarms.values()) cancel.abort();
    this.#alarms.clear();
  }

  async #dispatch(tx: StoreTx, task: Task, now: number): Promise<SessionId> {
    const { id, queue } = task;
    const number = task.attempts + 1;
    const worker = newId("ses", now);
    await tx.tasks.update(id, { status: "dispatched", attempts: number, worker, dispatched_at: now, not_before: null });
    await tx.tasks.insertAttempt({
      task: id,
      queue,
      number,
      worker,
      started_at: now,
      ended_at: null,
      error: null,
      output_tokens: null,
      cost: null,
    });
    await tx.events.append(
      { type: "task.dispatched", session: null, data: { queue, task: id, attempt: number, worker } },
      now,
    );
    return worker;
  }

  #wakeAt(queue: string, at: number): void {
    const current = this.#alarms.get(queue);
    if (!this.#running || (current && current.at <= at)) return;
    current?.cancel.abort();
    const alarm = { at, cancel: new AbortController() };
    this.#alarms.set(queue, alarm);
    const { clock } = this.#options;
    clock.sleep(Math.min(Math.max(0, at - clock.now()), longestSleepMs), alarm.cancel.signal).then(
      () => {
        if (this.#alarms.get(queue) === alarm) this.#alarms.delete(queue);
        this.nudge(queue);
      },
      () => {},
    );
  }
}

/** All of them must have passed; null when one waits for something else than time. */
function latest(times: readonly (number | null)[]): number | null {
  let last = 0;
  for (const time of times) {
    if (time === null) return null;
    last = Math.max(last, time);
  }
  return last;
}
