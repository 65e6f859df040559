/**
 * The running workers. Each is a new session with the task's payload as its first message. The task ends with the
 * worker's last turn, at its timeout, or when the session is closed; the session is closed with the task.
 */
import { isAegisError } from "@aegis/contract/errors.ts";
import type { SessionId, TaskId } from "@aegis/contract/ids.ts";
import type { QueueSettings, Task } from "@aegis/contract/task.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Logger } from "@aegis/lib/log.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { Store, StoreTx, TurnRow } from "@aegis/store/store.ts";
import type { Transact } from "@aegis/store/transact.ts";
import type { Checks } from "@aegis/worktrees/checks/checks.ts";
import { workerFailures } from "../work/failure-texts.ts";
import { type EndedWork, judge, type StillWaiting } from "../work/judge.ts";
import { verifyWork } from "../work/verify.ts";
import { WatchedSessions } from "../work/watched-sessions.ts";
import type { CheckFinder } from "./check.ts";
import { endingOf, type TaskEnding, type TaskEndings } from "./endings.ts";

export type WorkersOptions = {
  store: Store;
  transact: Transact;
  clock: Clock;
  log: Logger;
  sessions: Sessions;
  endings: TaskEndings;
  waiting: readonly StillWaiting[];
  checks: Checks;
  /** The check of a task, if it has one. */
  checkOf: CheckFinder;
  /** Called when the queue has room again. */
  onFree: (queue: string) => void;
};

type Worker = {
  task: TaskId;
  queue: string;
  /** The concurrency limit of the queue. */
  places: number;
  /** What the worker waits for after its turn has ended; empty while it works. */
  waitingOn: string;
};

/** The interval for checks of waits whose end has no event. */
const recheckMs = 5_000;

export class Workers {
  readonly #options: WorkersOptions;
  readonly #workers: WatchedSessions<Worker>;
  readonly #leaving = new Map<string, number>();

  constructor(options: WorkersOptions) {
    this.#options = options;
    const { store, clock, log } = options;
    this.#workers = new WatchedSessions({
      store,
      clock,
      log,
      name: "worker",
      check: (session, worker) => this.#examine(session, worker),
      alsoAfter: ["turn.started"],
    });
    // Whatever ended the task, on this node or another.
    store.onCommit(
      (events) => {
        for (const event of events) if (event.type === "task.ended") this.#releaseOf(event.data.task);
      },
      ["task.ended"],
    );
  }

  /** Workers of the queue whose task has ended but whose session has not. */
  leaving(queue: string): number {
    return this.#leaving.get(queue) ?? 0;
  }

  /** The task of a worker session. */
  taskOf(session: SessionId): TaskId | null {
    return this.#workers.get(session)?.task ?? null;
  }

  /** The session of the worker is stored, with the payload as its first message. */
  start(task: Task, worker: SessionId, settings: QueueSettings): void {
    this.#watch(task, worker, settings, this.#options.clock.now());
    this.#options.sessions.wake(worker);
    // The task may have been cancelled since the commit.
    this.#workers.check(worker);
  }

  /** Adopts a worker that an earlier daemon left running. */
  adopt(task: Task, worker: SessionId, settings: QueueSettings | null, since: number | null): void {
    this.#watch(task, worker, settings, since ?? this.#options.clock.now());
    this.#workers.check(worker);
  }

  /** Ends the worker's attempt, unless it has already ended. */
  async end(worker: SessionId, ending: TaskEnding, stillTrue?: (tx: StoreTx) => Promise<boolean>): Promise<void> {
    const watched = this.#workers.get(worker);
    if (!watched) return;
    const ended = await this.#options.transact(async (tx) => {
      const task = await tx.tasks.get(watched.task);
      if (task?.status !== "dispatched" || task.worker !== worker) return { told: null };
      if (stillTrue && !(await stillTrue(tx))) return null;
      return this.#options.endings.end(tx, task, ending);
    });
    if (ended === null) return;
    if (ended.told) this.#options.sessions.wake(ended.told);
    this.release(worker);
  }

  /** Closes the session of an ended task. The queue has room once the session is gone. */
  release(worker: SessionId): void {
    const watched = this.#workers.get(worker);
    if (!watched) return;
    this.#workers.remove(worker);
    const { queue } = watched;
    this.#leaving.set(queue, this.leaving(queue) + 1);
    void this.#workers.leave(worker, this.#close(worker, watched)).then(() => {
      this.#leaving.set(queue, this.leaving(queue) - 1);
      this.#options.onFree(queue);
    });
  }

  /** Cancels all timeouts. The next daemon start continues unfinished work. */
  stop(): void {
    this.#workers.stop();
  }

  /** Resolves when all ends are stored and the closed sessions are gone. */
  settled(): Promise<void> {
    return this.#workers.settled();
  }

  #releaseOf(task: TaskId): void {
    for (const [worker, watched] of this.#workers.entries()) if (watched.task === task) this.release(worker);
  }

  #watch(task: Task, worker: SessionId, settings: QueueSettings | null, since: number): void {
    const watched: Worker = {
      task: task.id,
      queue: task.queue,
      places: settings?.max_parallel ?? 1,
      waitingOn: "",
    };
    const seconds = settings?.timeout ?? null;
    this.#workers.add(worker, watched, seconds === null ? null : since + seconds * 1_000, async () => {
      const words = await this.#options.sessions.lastText(this.#options.store.read, worker);
      await this.end(worker, { status: "failed", error: `timed out after ${seconds}s`, words, retry: "later" });
    });
  }

  async #examine(worker: SessionId, watched: Worker): Promise<void> {
    const waiting = [...this.#options.waiting, (session: SessionId) => this.#answersDue(session)];
    const { store } = this.#options;
    const verdict = await judge(store.read, worker, waiting, workerFailures);
    if (verdict.kind === "working") {
      watched.waitingOn = "";
      const task = await store.read.tasks.get(watched.task);
      if (task?.status !== "dispatched" || task.worker !== worker) this.release(worker);
    }
    if (verdict.kind === "ended") {
      const ending = await this.#ending(worker, watched, verdict);
      if (ending !== null) await this.end(worker, ending, verdict.stillTrue);
    }
    if (verdict.kind === "waiting") await this.#defer(worker, watched, verdict.reasons);
  }

  /** Null if the check sent the worker back to work, or the task ended while the check ran. */
  async #ending(worker: SessionId, watched: Worker, verdict: EndedWork): Promise<TaskEnding | null> {
    const { store, sessions } = this.#options;
    const words = verdict.error === null ? null : await sessions.lastText(store.read, worker);
    const ending = endingOf(verdict, words);
    if (ending.status !== "completed" || verdict.turn === null) return ending;
    const verified = await this.#verify(worker, watched, verdict.turn, verdict);
    if (verified === "over") return null;
    if (verified === "none" || verified.outcome === "passed") return ending;
    if (verified.outcome === "returned") return null;
    const retry = verified.receipt.status === "refused" ? "no" : "later";
    return { status: "failed", error: verified.error, words: ending.result, retry };
  }

  async #verify(worker: SessionId, { task: id }: Worker, turn: TurnRow, { stillTrue }: EndedWork) {
    const { store, checks, checkOf } = this.#options;
    const signal = this.#workers.signalOf(worker);
    return verifyWork(
      { kind: "task", subject: id, scope: `${id}/${worker}`, session: worker, turn: turn.id, signal, stillTrue },
      {
        checks,
        async find() {
          const task = await store.read.tasks.get(id);
          return task === null ? null : checkOf(task);
        },
      },
    );
  }

  /** Tasks of the worker whose results it will receive. A task that can never start is excluded. */
  async #answersDue(worker: SessionId): Promise<string[]> {
    const owed = await this.#options.store.read.tasks.owedTo(worker);
    const due = owed.filter((task) => task.status === "dispatched" || !this.#isStuck(task.queue, worker));
    return due.map((task) => `task ${task.id} of queue ${task.queue}`);
  }

  /** True if every slot of the queue is occupied by a worker that waits. */
  #isStuck(queue: string, self: SessionId): boolean {
    const holders = this.#workers.entries().filter(([, worker]) => worker.queue === queue);
    const places = Math.max(1, ...holders.map(([, worker]) => worker.places));
    return holders.length >= places && holders.every(([id, worker]) => id === self || worker.waitingOn !== "");
  }

  async #defer(worker: SessionId, watched: Worker, reasons: readonly string[]): Promise<void> {
    const { transact, clock } = this.#options;
    this.#workers.checkIn(worker, recheckMs);
    const waitingOn = reasons.join("; ");
    if (waitingOn === watched.waitingOn) return;
    watched.waitingOn = waitingOn;
    const { queue, task } = watched;
    await transact((tx) =>
      tx.events.append(
        { type: "task.deferred", session: null, data: { queue, task, worker, waiting_on: [...reasons] } },
        clock.now(),
      ),
    );
  }

  async #close(worker: SessionId, watched: Worker): Promise<void> {
    try {
      await this.#options.sessions.close(worker, `task ${watched.task} is over`);
    } catch (error) {
      if (!isAegisError(error) || (error.code !== "closed" && error.code !== "not_found")) throw error;
    }
  }
}
