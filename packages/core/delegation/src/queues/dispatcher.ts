/**
 * Starts tasks in FIFO order per queue, within its concurrency limit and its budgets. One transaction decides what
 * starts and stores the sessions of the workers with their first messages; they are woken afterwards.
 */
import { isAegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { QueueSettings, Task } from "@aegis/contract/task.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { Store, StoreTx } from "@aegis/store/store.ts";
import { cannotWrite, type Transact } from "@aegis/store/transact.ts";
import { checkBudgets } from "./budgets.ts";
import type { QueueDefinitions } from "./definitions.ts";
import type { EndedTask } from "./endings.ts";
import { type RightsOptions, roomFor, workerPlace } from "./rights.ts";

export type DispatcherOptions = RightsOptions & {
  store: Store;
  transact: Transact;
  clock: Clock;
  log: Logger;
  definitions: QueueDefinitions;
  /** Starts the stored worker of a dispatched task. Must not throw. */
  start: (task: Task, worker: SessionId, settings: QueueSettings) => void;
  /** Workers of the queue whose task has ended but whose session has not. */
  leaving: (queue: string) => number;
  /** How many more workers of the queue this node may have. */
  room: (tx: StoreTx, settings: QueueSettings) => Promise<number>;
  /** Ends a task that can never start. */
  refuse: (tx: StoreTx, task: Task, error: string) => Promise<EndedTask>;
  sessions: Sessions;
};

export type DispatchPlan = {
  started: { task: Task; worker: SessionId; settings: QueueSettings }[];
  /** The next time at which more tasks may start without any other event. */
  wakeAt: number | null;
  /** Sessions that received a message. */
  told: SessionId[];
};

/** Events after which a tree may have room for a worker. */
export const freeing: ReadonlySet<Event["type"]> = new Set<Event["type"]>([
  "session.closed",
  "subagent.ended",
  "pool.released",
]);

/** The longest delay of a timer, which counts in 32 bits. A longer wait uses several timers. */
const longestSleepMs = 3_600_000;

export class Dispatcher {
  readonly #options: DispatcherOptions;
  /** Queues with a task that waits for room in its tree. */
  readonly #held = new Set<string>();
  readonly #alarms = new Map<string, { at: number; cancel: AbortController }>();
  #running = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Starts every task that may start. Idempotent. */
  async pump(queue: string): Promise<void> {
    if (!this.#running) return;
    this.carryOut(queue, await this.#options.transact((tx) => this.plan(tx, queue)));
  }

  /** Starts the workers of planned tasks after the plan is committed. */
  carryOut(queue: string, { started, wakeAt, told }: DispatchPlan): void {
    for (const session of told) this.#options.sessions.wake(session);
    for (const { task, worker, settings } of started) this.#options.start(task, worker, settings);
    if (wakeAt !== null) this.#wakeAt(queue, wakeAt);
  }

  /** Decides and records what starts, inside the caller's transaction. */
  async plan(tx: StoreTx, name: string): Promise<DispatchPlan> {
    const planned: DispatchPlan = { started: [], wakeAt: null, told: [] };
    const queue = await this.#options.definitions.find(tx, name);
    // Checked again here: the daemon may have begun to stop while the transaction was queued.
    if (queue === null || queue.paused || !this.#running) return planned;
    const { settings } = queue;
    const now = this.#options.clock.now();
    const held: SessionId[] = [];
    let running = (await tx.tasks.countDispatched(name)) + this.#options.leaving(name);
    const most = Math.min(settings.max_parallel, running + (await this.#options.room(tx, settings)));
    // A session of this node that closes makes room.
    if (most < settings.max_parallel) this.#held.add(name);
    while (running < most) {
      const task = await tx.tasks.next(name, now, held);
      if (task === null) {
        planned.wakeAt = await tx.tasks.nextDue(name);
        break;
      }
      const blocked = (await checkBudgets(tx, name, settings.budgets, now)).filter((check) => !check.allowed);
      if (blocked.length > 0) {
        planned.wakeAt = latest(blocked.map((check) => check.unblock_at));
        break;
      }
      const room = await roomFor(tx, task, { ...this.#options, now });
      if (room !== "yes" && "wait" in room) {
        // Before the commit, so that no end after it is missed.
        this.#held.add(name);
        held.push(room.starter);
        continue;
      }
      if (room !== "yes") {
        const { told } = await this.#options.refuse(tx, task, room.never);
        if (told !== null) planned.told.push(told);
        continue;
      }
      const worker = await this.#hire(tx, task, settings);
      if (typeof worker !== "string") {
        const { told } = await this.#options.refuse(tx, task, worker.never);
        if (told !== null) planned.told.push(told);
        continue;
      }
      await this.#dispatch(tx, task, worker, now);
      planned.started.push({ task, worker, settings });
      running += 1;
    }
    return planned;
  }

  /** Events are only hints; the stored rows decide. */
  notice(events: readonly Event[]): void {
    if (this.#held.size === 0 || !events.some(({ type }) => freeing.has(type))) return;
    const queues = [...this.#held];
    this.#held.clear();
    for (const queue of queues) this.nudge(queue);
  }

  /** Like `pump`, for callers that do not wait. */
  nudge(queue: string): void {
    this.pump(queue).catch((error: unknown) => {
      if (this.#running) this.#options.log.error("a queue could not start tasks", { queue, error: errorText(error) });
    });
  }

  /** Starts dispatching. Not called earlier, because harnesses connect to the daemon. */
  async start(): Promise<void> {
    this.#running = true;
    await this.nudgeAll();
  }

  async nudgeAll(): Promise<void> {
    for (const name of await this.#options.definitions.names(this.#options.store.read)) this.nudge(name);
  }

  /** Stops dispatching. */
  stop(): void {
    this.#running = false;
    for (const { cancel } of this.#alarms.values()) cancel.abort();
    this.#alarms.clear();
  }

  /** Stores the worker, so that every reader of the task finds its session. */
  async #hire(tx: StoreTx, task: Task, settings: QueueSettings): Promise<SessionId | { never: string }> {
    try {
      const place = await workerPlace(tx, task, settings, this.#options);
      const { row } = await this.#options.sessions.createIn(tx, {
        agent: settings.agent,
        prompt: task.payload,
        sender: { kind: "queue", name: task.queue, task: task.id, status: null },
        place: place ?? undefined,
        isolation: settings.isolation,
        nodes: settings.nodes,
        cause: task.chain === null ? undefined : { chain: task.chain, hops: task.hops },
      });
      return row.id;
    } catch (error) {
      // Anything else is an error of the store, which decides about the whole transaction.
      if (!isAegisError(error) || cannotWrite(error)) throw error;
      return { never: `no worker could be started: ${errorText(error)}` };
    }
  }

  async #dispatch(tx: StoreTx, task: Task, worker: SessionId, now: number): Promise<void> {
    const { id, queue } = task;
    const number = task.attempts + 1;
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

/** The latest of the times; null if one of them does not depend on time. */
function latest(times: readonly (number | null)[]): number | null {
  let last = 0;
  for (const time of times) {
    if (time === null) return null;
    last = Math.max(last, time);
  }
  return last;
}
