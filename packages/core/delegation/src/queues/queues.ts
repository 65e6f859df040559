/** Queues of tasks. A producer continues after it enqueues a task and receives the result as a message. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId, TaskId } from "@aegis/contract/ids.ts";
import type { Attempt, CancelOutcome, QueueSettings, QueueView, Task, TaskView } from "@aegis/contract/task.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Logger } from "@aegis/lib/log.ts";
import { nodeOf } from "@aegis/nodes/node-of.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import { until } from "@aegis/sessions/until.ts";
import type { Store, StoreTx } from "@aegis/store/store.ts";
import type { Transact } from "@aegis/store/transact.ts";
import type { Checks } from "@aegis/worktrees/checks/checks.ts";
import type { CheckConsent } from "@aegis/worktrees/checks/consent.ts";
import type { ReceiptViews } from "@aegis/worktrees/checks/views.ts";
import type { StillWaiting } from "../work/judge.ts";
import { checkTask, insertTask, type NewTask } from "./admission.ts";
import { findCheck } from "./check.ts";
import { type DefinitionsOptions, QueueDefinitions } from "./definitions.ts";
import { Dispatcher, freeing } from "./dispatcher.ts";
import { type EndedTask, TaskEndings } from "./endings.ts";
import { roomOfNode } from "./node-room.ts";
import { recoverTasksIn, type SettledTasks } from "./recover.ts";
import { type RightsOptions, workerLabels } from "./rights.ts";
import { QueueViews, type TaskFilter, unknownTask } from "./views.ts";
import { Workers } from "./workers.ts";

export type QueuesOptions = RightsOptions & {
  store: Store;
  transact: Transact;
  clock: Clock;
  log: Logger;
  random: () => number;
  inbox: Inbox;
  sessions: Sessions;
  maxHops: () => number;
  declared: DefinitionsOptions["declared"];
  /** What a session may still wait for after its turn has ended. */
  waiting: readonly StillWaiting[];
  checks: Checks;
  checkConsent: CheckConsent;
  receipts: ReceiptViews;
};

export type WaitLimits = { signal: AbortSignal; timeoutMs?: number | undefined };

export type CancelledTask = { task: Task; was: "pending" | "in_flight" | null; told: SessionId | null };

export type EnqueuedTask = {
  task: TaskView;
  /** 0 if it started immediately. */
  queued_position: number;
  duplicate: boolean;
};

export class Queues {
  readonly #options: QueuesOptions;
  readonly #definitions: QueueDefinitions;
  readonly #views: QueueViews;
  readonly #endings: TaskEndings;
  readonly #workers: Workers;
  readonly #dispatcher: Dispatcher;
  readonly #waits = new AbortController();
  /** Tasks whose producer waits for them during its turn. */
  readonly #awaited = new Set<TaskId>();

  constructor(options: QueuesOptions) {
    this.#options = options;
    const { store, transact, clock, log, random, agents, subagentSettings, inbox, sessions, maxHops } = options;
    const { waiting, checks, checkConsent, receipts } = options;
    const definitions = new QueueDefinitions(options);
    this.#definitions = definitions;
    this.#views = new QueueViews({ store, agents, subagentSettings, definitions, clock, receipts, checkConsent });
    this.#endings = new TaskEndings({ clock, random, inbox, definitions, maxHops });
    this.#workers = new Workers({
      store,
      transact,
      clock,
      log,
      sessions,
      waiting,
      checks,
      endings: this.#endings,
      checkOf: (task) => findCheck(store.read, definitions, task, checkConsent),
      onFree: (queue) => this.#dispatcher.nudge(queue),
    });
    this.#dispatcher = new Dispatcher({
      store,
      transact,
      clock,
      log,
      sessions,
      agents,
      subagentSettings,
      definitions,
      start: (task, worker, settings) => this.#workers.start(task, worker, settings),
      leaving: (queue) => this.#workers.leaving(queue),
      room: (tx, settings) => roomOfNode(tx, nodeOf(store), workerLabels(settings, agents)),
      refuse: (tx, task, error) => this.#refuse(tx, task, error),
    });
    store.onCommit((events) => this.#dispatcher.notice(events), [...freeing]);
  }

  /**
   * Settles the tasks of one node as part of a transaction of the caller, which calls `adopt` after the commit. Must run
   * before any session is woken.
   */
  recoverIn(tx: StoreTx, node: string | null): Promise<SettledTasks> {
    return recoverTasksIn(tx, node, { ...this.#options, definitions: this.#definitions, endings: this.#endings });
  }

  async adopt({ adopt, closed }: SettledTasks): Promise<void> {
    for (const { task, worker, settings, since } of adopt) this.#workers.adopt(task, worker, settings, since);
    for (const one of closed) await this.#options.sessions.leave(one);
  }

  /** Another node changed a queue or its tasks: more may start here. */
  async nudge(queue: string): Promise<void> {
    const { store, clock } = this.#options;
    // Read first: most changes of other nodes leave nothing to start.
    const { tasks } = store.read;
    if ((await tasks.next(queue, clock.now())) === null && (await tasks.nextDue(queue)) === null) return;
    this.#dispatcher.nudge(queue);
  }

  /** Starts dispatching tasks. */
  start(): Promise<void> {
    return this.#dispatcher.start();
  }

  /** Called after the configuration changed: more tasks may be allowed to start. */
  settingsChanged(): Promise<void> {
    return this.#dispatcher.nudgeAll();
  }

  /** Stops dispatching. Running tasks may still end. */
  stop(): void {
    this.#dispatcher.stop();
    this.#workers.stop();
  }

  /** Releases all waiting callers, and resolves when the ends of tasks are stored. */
  settled(): Promise<void> {
    this.#waits.abort(new AegisError("unavailable", "Aegis is stopping; the task continues after the next start"));
    return this.#workers.settled();
  }

  async enqueue(input: NewTask): Promise<EnqueuedTask> {
    const { store, clock, maxHops } = this.#options;
    checkTask(input, maxHops());
    const { task, duplicate, plan } = await store.transact(async (tx) => {
      const options = { ...this.#options, definitions: this.#definitions, now: clock.now() };
      const inserted = await insertTask(tx, input, options);
      return { ...inserted, plan: inserted.duplicate ? null : await this.#dispatcher.plan(tx, input.queue) };
    });
    if (plan) this.#dispatcher.carryOut(task.queue, plan);
    const now = (await store.read.tasks.get(task.id)) ?? task;
    const view = await this.#views.view(now);
    return { task: view, queued_position: view.queued_position ?? 0, duplicate };
  }

  /** The task once it has ended, or null after the timeout; the task continues in both cases. */
  async wait(id: TaskId, limits: WaitLimits): Promise<Task | null> {
    return this.#until(async () => {
      const task = await this.#options.store.read.tasks.get(id);
      if (!task) throw unknownTask(id);
      return isOver(task) ? task : null;
    }, limits);
  }

  /** Enqueues a task and waits for it, for a session whose turn blocks on it. */
  async delegate(input: NewTask, limits: WaitLimits): Promise<{ id: TaskId; task: Task | null }> {
    if (input.producer !== null) await this.#refuseDeadlock(input.producer, input.queue);
    const { task } = await this.enqueue({ ...input, callback: false, waits: true });
    this.#awaited.add(task.id);
    try {
      return { id: task.id, task: await this.wait(task.id, limits) };
    } finally {
      this.#awaited.delete(task.id);
    }
  }

  async cancel(id: TaskId): Promise<CancelOutcome> {
    const { store, sessions } = this.#options;
    const done = await store.transact((tx) => this.cancelIn(tx, id));
    if (done === null) return { ok: false, error: `no task ${id}` };
    const { task, was, told } = done;
    if (was === null) return { ok: true, status: task.status, note: "already terminal" };
    if (told) sessions.wake(told);
    return { ok: true, status: "cancelled", was };
  }

  /**
   * Cancels inside the caller's transaction; its worker leaves after the commit. Returns null for an unknown task.
   * `was` is null if the task had ended. `told` received a message: wake it after the commit.
   */
  async cancelIn(tx: StoreTx, id: TaskId): Promise<CancelledTask | null> {
    const task = await tx.tasks.get(id);
    if (!task) return null;
    if (isOver(task)) return { task, was: null, told: null };
    const was = task.status === "dispatched" ? "in_flight" : "pending";
    const last = await this.#lastAttempt(tx, task);
    return { task, was, ...(await this.#endings.end(tx, task, { status: "cancelled", was, ...last })) };
  }

  /** A task that failed before ends with that error and its worker's words, beside the reason why it is not tried again. */
  async #refuse(tx: StoreTx, task: Task, reason: string): Promise<EndedTask> {
    const { words, lastError } = await this.#lastAttempt(tx, task);
    const error = lastError === null ? reason : `${lastError}; it is not tried again: ${reason}`;
    return this.#endings.end(tx, task, { status: "failed", error, words, retry: "no" });
  }

  /** Also of a task that waits for its next attempt. */
  async #lastAttempt(tx: StoreTx, { id, worker }: Task): Promise<{ words: string | null; lastError: string | null }> {
    const words = worker === null ? null : await this.#options.sessions.lastText(tx, worker);
    return { words, lastError: (await tx.tasks.attempts(id)).at(-1)?.error ?? null };
  }

  /** Returns a failed or cancelled task to the end of its queue, with all its retries. */
  async retry(id: TaskId): Promise<TaskView> {
    const queue = await this.#options.store.transact(async (tx) => {
      const task = await tx.tasks.get(id);
      if (!task) throw unknownTask(id);
      if (task.status !== "failed" && task.status !== "cancelled") {
        throw new AegisError("conflict", `task ${id} is ${task.status}: only one that failed can be put back`);
      }
      await this.#definitions.get(tx, task.queue);
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

  /** The agent of the task's queue; null if the queue no longer exists. */
  async agentOf({ queue }: Pick<Task, "queue">): Promise<string | null> {
    return (await this.#definitions.find(this.#options.store.read, queue))?.settings.agent ?? null;
  }

  /** Throws `not_found` if the queue does not exist and never had tasks. */
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

  /** Throws `conflict` if a queue of that name exists. */
  async add(name: string, settings: QueueSettings): Promise<QueueView> {
    await this.#definitions.add(name, settings);
    // Tasks of an earlier queue of that name may still be pending.
    this.#dispatcher.nudge(name);
    return this.queue(name);
  }

  /** Returns the cancelled tasks. Throws `conflict` if the queue has unfinished tasks, unless forced. */
  async remove(name: string, options: { force: boolean }): Promise<TaskId[]> {
    const left = await this.#definitions.remove(name, options);
    for (const id of left) await this.cancel(id);
    return left;
  }

  /** Starts no task of the queue until it is resumed, also after a restart. */
  async pause(name: string): Promise<QueueView> {
    await this.#definitions.setPaused(name, true);
    return this.queue(name);
  }

  async resume(name: string): Promise<QueueView> {
    await this.#definitions.setPaused(name, false);
    await this.#dispatcher.pump(name);
    return this.queue(name);
  }

  /** Resolves with true when the queue has no unfinished task, or with false after the timeout. */
  async drain(name: string, limits: WaitLimits): Promise<boolean> {
    await this.queue(name);
    const empty = await this.#until(async () => {
      const tasks = (await this.#options.store.read.tasks.counts()).get(name);
      return tasks === undefined || tasks.pending + tasks.dispatched === 0 ? true : null;
    }, limits);
    return empty ?? false;
  }

  /** Repeats `look` after each end of a task until it finds something. Null after the timeout. */
  #until<T>(look: () => Promise<T | null>, { signal, timeoutMs }: WaitLimits): Promise<T | null> {
    const { store, clock } = this.#options;
    return until({
      store,
      clock,
      look,
      mayChange: (event) => event.type === "task.ended",
      signal: AbortSignal.any([signal, this.#waits.signal]),
      deadline: timeoutMs === undefined ? null : clock.now() + timeoutMs,
    });
  }

  /** A worker that waits for a task of its own queue occupies a slot that the task may need. */
  async #refuseDeadlock(producer: SessionId, queue: string): Promise<void> {
    const { read } = this.#options.store;
    let held = 0;
    for (let session: SessionId | null = producer; session !== null; ) {
      const id: TaskId | null = this.#workers.taskOf(session);
      const task: Task | null = id === null ? null : await read.tasks.get(id);
      if (task?.queue === queue) held += 1;
      session = task !== null && this.#awaited.has(task.id) ? task.producer : null;
    }
    const { settings } = await this.#definitions.get(read, queue);
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
