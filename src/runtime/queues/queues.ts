/** Queues: named lines of work. Whoever enqueues a task goes on; what became of it arrives as a message. */
import { AegisError } from "../../contract/errors.ts";
import type { SessionId, TaskId } from "../../contract/ids.ts";
import type { Attempt, CancelOutcome, QueueSettings, QueueView, Task, TaskView } from "../../contract/task.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/log.ts";
import type { Persist } from "../../store/persist.ts";
import type { Store } from "../../store/store.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { AgentRegistry } from "../registry/agents.ts";
import { lastWords } from "../sessions/last-words.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { checkTask, insertTask, type NewTask } from "./admission.ts";
import { QueueCatalog } from "./catalog.ts";
import { Dispatcher } from "./dispatcher.ts";
import { Endings } from "./endings.ts";
import { QueueManagement } from "./management.ts";
import { type RecoveredTasks, recoverTasks } from "./recover.ts";
import type { StillWaiting } from "./verdict.ts";
import { QueueViews, type TaskFilter, unknownTask } from "./views.ts";
import { type WaitLimits, Waits } from "./waits.ts";
import { Workers } from "./workers.ts";

export type QueuesOptions = {
  store: Store;
  persist: Persist;
  clock: Clock;
  log: Logger;
  random: () => number;
  agents: AgentRegistry;
  inbox: Inbox;
  sessions: Sessions;
  maxHops: () => number;
  /** The queues of the configuration in force. */
  declared: () => Readonly<Record<string, QueueSettings>>;
  /** What may keep a session from being done although its turn is over. */
  waiting: readonly StillWaiting[];
};

export type Enqueued = {
  task: TaskView;
  /** 0 when it was started at once. */
  queued_position: number;
  duplicate: boolean;
};

export class Queues {
  readonly #options: QueuesOptions;
  readonly #catalog: QueueCatalog;
  readonly #views: QueueViews;
  readonly #management: QueueManagement;
  readonly #endings: Endings;
  readonly #workers: Workers;
  readonly #dispatcher: Dispatcher;
  readonly #waits: Waits;
  /** Tasks whose producer waits for them within its turn. */
  readonly #awaited = new Set<TaskId>();

  constructor(options: QueuesOptions) {
    this.#options = options;
    this.#catalog = new QueueCatalog(options.declared);
    this.#views = new QueueViews(options.store, this.#catalog, options.clock);
    this.#management = new QueueManagement({ ...options, catalog: this.#catalog });
    this.#waits = new Waits(options.clock);
    this.#endings = new Endings({ ...options, catalog: this.#catalog });
    this.#workers = new Workers({
      ...options,
      endings: this.#endings,
      onFree: (queue) => this.#dispatcher.nudge(queue),
    });
    this.#dispatcher = new Dispatcher({
      ...options,
      catalog: this.#catalog,
      start: (task, worker, settings) => this.#workers.start(task, worker, settings),
      leaving: (queue) => this.#workers.leaving(queue),
    });
    options.store.onCommit((events) => {
      this.#workers.notice(events);
      this.#waits.notice(events);
    });
  }

  /** Settles what a stop left behind. Run it before any session is woken. */
  recover(): Promise<RecoveredTasks> {
    return recoverTasks({
      ...this.#options,
      catalog: this.#catalog,
      endings: this.#endings,
      workers: this.#workers,
    });
  }

  /** From now on tasks are started. */
  start(): Promise<void> {
    return this.#dispatcher.start();
  }

  /** New settings are in force: more may be allowed than before. */
  settingsChanged(): Promise<void> {
    return this.#dispatcher.nudgeAll();
  }

  /** Starts no more tasks. Those under way may still end. */
  stop(): void {
    this.#dispatcher.stop();
    this.#workers.stop();
  }

  /** Lets go of everybody who waits, and resolves when the tasks that have ended are on record. */
  settled(): Promise<void> {
    this.#waits.stop();
    return this.#workers.settled();
  }

  async enqueue(input: NewTask): Promise<Enqueued> {
    const { store, clock, maxHops } = this.#options;
    checkTask(input, maxHops());
    const { task, duplicate, plan } = await store.transact(async (tx) => {
      const inserted = await insertTask(tx, input, { catalog: this.#catalog, now: clock.now() });
      return { ...inserted, plan: inserted.duplicate ? null : await this.#dispatcher.plan(tx, input.queue) };
    });
    if (plan) this.#dispatcher.carryOut(task.queue, plan);
    const now = (await store.read.tasks.get(task.id)) ?? task;
    const view = await this.#views.view(now);
    return { task: view, queued_position: view.queued_position ?? 0, duplicate };
  }

  /** The task once it has ended, or null when the time is over; it goes on all the same. */
  async wait(id: TaskId, limits: WaitLimits): Promise<Task | null> {
    return this.#waits.until(async () => {
      const task = await this.#options.store.read.tasks.get(id);
      if (!task) throw unknownTask(id);
      return isOver(task) ? task : null;
    }, limits);
  }

  /** Enqueues and waits, for a session that can do nothing else meanwhile. */
  async delegate(input: NewTask, limits: WaitLimits): Promise<{ id: TaskId; task: Task | null }> {
    if (input.producer !== null) await this.#refuseDeadlock(input.producer, input.queue);
    const { task } = await this.enqueue({ ...input, callback: false });
    this.#awaited.add(task.id);
    try {
      return { id: task.id, task: await this.wait(task.id, limits) };
    } finally {
      this.#awaited.delete(task.id);
    }
  }

  async cancel(id: TaskId): Promise<CancelOutcome> {
    const { store, sessions } = this.#options;
    const done = await store.transact(async (tx) => {
      const task = await tx.tasks.get(id);
      if (!task) return null;
      if (isOver(task)) return { task, told: null };
      const was = task.status === "dispatched" ? ("in_flight" as const) : ("pending" as const);
      const words = was === "in_flight" && task.worker !== null ? await lastWords(tx, task.worker) : null;
      const lastError = (await tx.tasks.attempts(id)).at(-1)?.error ?? null;
      return { task, was, ...(await this.#endings.end(tx, task, { status: "cancelled", words, was, lastError })) };
    });
    if (done === null) return { ok: false, error: `no task ${id}` };
    const { task, was, told } = { was: undefined, ...done };
    if (was === undefined) return { ok: true, status: task.status, note: "already terminal" };
    if (told) sessions.wake(told);
    if (was === "in_flight" && task.worker !== null) this.#workers.release(task.worker);
    return { ok: true, status: "cancelled", was };
  }

  /** Puts a task that failed or was cancelled back, at the end of its queue, with all its retries. */
  async retry(id: TaskId): Promise<TaskView> {
    const queue = await this.#options.store.transact(async (tx) => {
      const task = await tx.tasks.get(id);
      if (!task) throw unknownTask(id);
      if (task.status !== "failed" && task.status !== "cancelled") {
        throw new AegisError("conflict", `task ${id} is ${task.status}: only one that failed can be put back`);
      }
      await this.#catalog.get(tx, task.queue);
      await tx.tasks.moveToEnd(id);
      await this.#endings.requeue(tx, task, { reason: "put back by a person", failures: 0, not_before: null });
      return task.queue;
    });
    await this.#dispatcher.pump(queue);
    return (await this.task(id)).task;
  }

  task(id: TaskId): Promise<{ task: TaskView; attempts: Attempt[] }> {
    return this.#views.task(id);
  }

  async find(id: TaskId): Promise<TaskView | null> {
    const task = await this.#options.store.read.tasks.get(id);
    return task === null ? null : this.#views.view(task);
  }

  /** Throws `not_found` for a queue that does not exist and never had tasks. */
  async tasks(filter: TaskFilter): Promise<TaskView[]> {
    const found = await this.#views.tasks(filter);
    if (found.length === 0 && filter.queue !== undefined) await this.#views.queue(filter.queue);
    return found;
  }

  list(): Promise<QueueView[]> {
    return this.#views.queues();
  }

  queue(name: string): Promise<QueueView> {
    return this.#views.queue(name);
  }

  /** Throws `conflict` when there is a queue of that name. */
  async add(name: string, settings: QueueSettings): Promise<QueueView> {
    await this.#management.add(name, settings);
    // Tasks of an earlier queue of that name may still wait.
    this.#dispatcher.nudge(name);
    return this.queue(name);
  }

  /** Gives the tasks it cancelled. Throws `conflict` while it has unfinished tasks, unless forced. */
  async remove(name: string, options: { force: boolean }): Promise<TaskId[]> {
    const left = await this.#management.remove(name, options);
    for (const id of left) await this.cancel(id);
    return left;
  }

  /** No task is started until it is resumed, also after a restart. */
  async pause(name: string): Promise<QueueView> {
    await this.#management.setPaused(name, true);
    return this.queue(name);
  }

  async resume(name: string): Promise<QueueView> {
    await this.#management.setPaused(name, false);
    await this.#dispatcher.pump(name);
    return this.queue(name);
  }

  /** True when the queue has no unfinished task any more, false when the time was over first. */
  async drain(name: string, limits: WaitLimits): Promise<boolean> {
    await this.queue(name);
    const empty = await this.#waits.until(async () => {
      const tasks = (await this.#options.store.read.tasks.counts()).get(name);
      return tasks === undefined || tasks.pending + tasks.dispatched === 0 ? true : null;
    }, limits);
    return empty ?? false;
  }

  /** A worker that waits for a task of its own queue holds a place that the task may need. */
  async #refuseDeadlock(producer: SessionId, queue: string): Promise<void> {
    const { read } = this.#options.store;
    let held = 0;
    for (let session: SessionId | null = producer; session !== null; ) {
      const id: TaskId | null = this.#workers.taskOf(session);
      const task: Task | null = id === null ? null : await read.tasks.get(id);
      if (task?.queue === queue) held += 1;
      session = task !== null && this.#awaited.has(task.id) ? task.producer : null;
    }
    const { settings } = await this.#catalog.get(read, queue);
    if (held < settings.max_parallel) return;
    throw new AegisError(
      "conflict",
      `waiting for a task of queue "${queue}" would never end: you hold its last place`,
      {
        hint: "use aegis_enqueue and end your turn, or delegate to another queue",
      },
    );
  }
}

function isOver(task: Task): boolean {
  return task.status !== "pending" && task.status !== "dispatched";
}
