/**
 * The workers at work: each is a fresh session with the task's payload as its opening prompt. Its task ends with its last
 * turn, when its time is over, or when its session is closed; the session is closed with the task.
 */
import { isAegisError } from "../../contract/errors.ts";
import type { Event } from "../../contract/event.ts";
import type { SessionId, TaskId } from "../../contract/ids.ts";
import type { QueueSettings, Task } from "../../contract/task.ts";
import { type Clock, sleepUntil } from "../../lib/clock.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import { cannotWrite, type Persist } from "../../store/persist.ts";
import type { Store, StoreTx } from "../../store/store.ts";
import { Drains } from "../sessions/drains.ts";
import { lastWords } from "../sessions/last-words.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { Ending } from "./callback.ts";
import type { Endings } from "./endings.ts";
import { judge, type StillWaiting } from "./verdict.ts";

export type WorkersOptions = {
  store: Store;
  persist: Persist;
  clock: Clock;
  log: Logger;
  sessions: Sessions;
  endings: Endings;
  waiting: readonly StillWaiting[];
  /** The queue has room again. */
  onFree: (queue: string) => void;
};

type Worker = {
  task: TaskId;
  queue: string;
  /** How many the queue may have at once. */
  places: number;
  /** Settles when the session is there, or cannot be made. */
  started: Promise<void>;
  /** Ends the watches over it. */
  watch: AbortController;
  /** What it waits for although its turn is over; empty while it works. */
  waitingOn: string;
};

/** A harness that does not go away must not hold its place in the queue for ever. */
const leaveDeadlineMs = 30_000;
/** For what a worker waits on without an event that tells of its end. */
const recheckMs = 5_000;
const writeDelayMs = 1_000;

export class Workers {
  readonly #options: WorkersOptions;
  readonly #workers = new Map<SessionId, Worker>();
  readonly #leaving = new Map<string, number>();
  readonly #farewells = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  readonly #checks: Drains;

  constructor(options: WorkersOptions) {
    this.#options = options;
    this.#checks = new Drains(
      (worker) => this.#examine(worker),
      (worker, error) => {
        if (!this.#stop.signal.aborted) {
          options.log.error("a worker could not be looked after", { session: worker, error: errorText(error) });
        }
      },
    );
  }

  /** Workers of the queue whose task is over but which are not gone yet. */
  leaving(queue: string): number {
    return this.#leaving.get(queue) ?? 0;
  }

  /** The task that the session works on. */
  taskOf(session: SessionId): TaskId | null {
    return this.#workers.get(session)?.task ?? null;
  }

  start(task: Task, worker: SessionId, settings: QueueSettings): void {
    const watched = this.#watch(task, worker, settings, this.#options.clock.now());
    watched.started = this.#create(task, worker, settings).catch((error: unknown) => {
      // The next start finds a task without a session and begins again.
      if (this.#stop.signal.aborted) return;
      const failure = `no worker could be started: ${errorText(error)}`;
      return this.end(worker, { status: "failed", error: failure, words: null, retry: "no" });
    });
  }

  /** Takes over the worker that an earlier daemon left at work. */
  adopt(task: Task, worker: SessionId, settings: QueueSettings | null, since: number | null): void {
    this.#watch(task, worker, settings, since ?? this.#options.clock.now());
    this.#checks.wake(worker);
  }

  /** Hints only: what is on record decides. */
  notice(events: readonly Event[]): void {
    for (const event of events) {
      if (event.session === null || !this.#workers.has(event.session)) continue;
      if (hints.has(event.type)) this.#checks.wake(event.session);
    }
  }

  /** Ends the worker's try, unless it has ended meanwhile. */
  async end(worker: SessionId, ending: Ending, stillTrue?: (tx: StoreTx) => Promise<boolean>): Promise<void> {
    const watched = this.#workers.get(worker);
    if (!watched) return;
    const ended = await this.#options.persist(async (tx) => {
      const task = await tx.tasks.get(watched.task);
      if (task?.status !== "dispatched" || task.worker !== worker) return { told: null };
      if (stillTrue && !(await stillTrue(tx))) return null;
      return this.#options.endings.end(tx, task, ending);
    });
    if (ended === null) return;
    if (ended.told) this.#options.sessions.wake(ended.told);
    this.release(worker);
  }

  /** The task is over: the session is closed, and the queue has room once it is gone. */
  release(worker: SessionId): void {
    const watched = this.#workers.get(worker);
    if (!watched) return;
    this.#workers.delete(worker);
    watched.watch.abort();
    const { queue } = watched;
    this.#leaving.set(queue, this.leaving(queue) + 1);
    const farewell = this.#close(worker, watched).finally(() => {
      this.#leaving.set(queue, this.leaving(queue) - 1);
      this.#farewells.delete(farewell);
      this.#options.onFree(queue);
    });
    this.#farewells.add(farewell);
  }

  /** No more time limits: what is still under way is left to the next start. */
  stop(): void {
    this.#stop.abort();
    for (const { watch } of this.#workers.values()) watch.abort();
  }

  /** Resolves when everything that had ended is on record and gone. */
  async settled(): Promise<void> {
    await this.#checks.stop();
    await Promise.all(this.#farewells);
  }

  #watch(task: Task, worker: SessionId, settings: QueueSettings | null, since: number): Worker {
    const watched: Worker = {
      task: task.id,
      queue: task.queue,
      places: settings?.max_parallel ?? 1,
      started: Promise.resolve(),
      watch: new AbortController(),
      waitingOn: "",
    };
    this.#workers.set(worker, watched);
    if (settings?.timeout) this.#limit(worker, watched, settings.timeout, since);
    return watched;
  }

  #limit(worker: SessionId, watched: Worker, seconds: number, since: number): void {
    const { clock, log } = this.#options;
    const { signal } = watched.watch;
    const at = since + seconds * 1_000;
    const expire = async () => {
      await sleepUntil(clock, at, signal);
      const words = await lastWords(this.#options.store.read, worker);
      await this.end(worker, { status: "failed", error: `timed out after ${seconds}s`, words, retry: "later" });
    };
    expire().catch((error: unknown) => {
      if (signal.aborted) return;
      log.error("a task's time limit could not be enforced", { task: watched.task, error: errorText(error) });
    });
  }

  /** A full disk delays the start; anything else that is wrong is the task's failure. */
  async #create(task: Task, worker: SessionId, settings: QueueSettings): Promise<void> {
    const { sessions, clock } = this.#options;
    while (true) {
      try {
        await sessions.create({
          id: worker,
          agent: settings.agent,
          title: `queue ${task.queue} task ${task.id}`,
          prompt: task.payload,
          sender: { kind: "queue", name: task.queue, task: task.id, status: null },
          cause: task.chain === null ? undefined : { chain: task.chain, hops: task.hops },
        });
        return;
      } catch (error) {
        if (!cannotWrite(error) || this.#stop.signal.aborted) throw error;
        await clock.sleep(writeDelayMs, this.#stop.signal);
      }
    }
  }

  async #examine(worker: SessionId): Promise<void> {
    const watched = this.#workers.get(worker);
    if (!watched) return;
    const waiting = [...this.#options.waiting, (session: SessionId) => this.#answersDue(session)];
    const verdict = await judge(this.#options.store.read, worker, waiting);
    if (verdict.kind === "working") watched.waitingOn = "";
    if (verdict.kind === "ended") await this.end(worker, verdict.ending, verdict.stillTrue);
    if (verdict.kind === "waiting") await this.#defer(worker, watched, verdict.reasons);
  }

  /** Tasks of its own that the worker will be told of. One that could never start is not waited for. */
  async #answersDue(worker: SessionId): Promise<string[]> {
    const owed = await this.#options.store.read.tasks.owedTo(worker);
    const due = owed.filter((task) => task.status === "dispatched" || !this.#isStuck(task.queue, worker));
    return due.map((task) => `task ${task.id} of queue ${task.queue}`);
  }

  /** Every place of the queue is held by somebody who waits: by this worker, or by others. */
  #isStuck(queue: string, self: SessionId): boolean {
    const holders = [...this.#workers].filter(([, worker]) => worker.queue === queue);
    const places = Math.max(1, ...holders.map(([, worker]) => worker.places));
    return holders.length >= places && holders.every(([id, worker]) => id === self || worker.waitingOn !== "");
  }

  async #defer(worker: SessionId, watched: Worker, reasons: readonly string[]): Promise<void> {
    const { persist, clock } = this.#options;
    clock.sleep(recheckMs, watched.watch.signal).then(
      () => this.#checks.wake(worker),
      () => {},
    );
    const waitingOn = reasons.join("; ");
    if (waitingOn === watched.waitingOn) return;
    watched.waitingOn = waitingOn;
    const { queue, task } = watched;
    await persist((tx) =>
      tx.events.append(
        { type: "task.deferred", session: null, data: { queue, task, worker, waiting_on: [...reasons] } },
        clock.now(),
      ),
    );
  }

  async #close(worker: SessionId, watched: Worker): Promise<void> {
    const { sessions, clock, log } = this.#options;
    const patience = new AbortController();
    const closing = watched.started
      .then(() => sessions.close(worker, `task ${watched.task} is over`))
      .catch((error: unknown) => {
        if (isAegisError(error) && (error.code === "closed" || error.code === "not_found")) return;
        log.warn("a worker's session could not be closed", { session: worker, error: errorText(error) });
      });
    await Promise.race([closing, clock.sleep(leaveDeadlineMs, patience.signal).catch(() => {})]);
    patience.abort();
  }
}

/** Events after which a worker's task may be over, or what it waits for may be another. */
const hints: ReadonlySet<Event["type"]> = new Set<Event["type"]>([
  "turn.started",
  "turn.ended",
  "session.closed",
  "message.cancelled",
  "ask.settled",
]);
