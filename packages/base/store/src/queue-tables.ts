/** The tables of queues and their tasks, part of the store port. */
import type { SessionId, TaskId } from "@aegis/contract/ids.ts";
import type { Attempt, QueueSettings, Task, TaskStatus } from "@aegis/contract/task.ts";

/** The stored part of a queue: its settings if it was added at run time, and whether it is paused. */
export type QueueRow = { name: string; settings: QueueSettings | null; paused: boolean };

export interface QueueReads {
  get(name: string): Promise<QueueRow | null>;
  list(): Promise<QueueRow[]>;
}

export interface QueueTable extends QueueReads {
  /** Inserts or replaces. */
  put(row: QueueRow): Promise<void>;
  remove(name: string): Promise<void>;
}

export type TaskCounts = Record<TaskStatus, number>;

export interface TaskReads {
  get(id: TaskId): Promise<Task | null>;
  /** Newest first; all of them without a limit. */
  list(filter: { queue?: string | undefined; status?: TaskStatus | undefined; limit?: number }): Promise<Task[]>;
  /** Dispatched tasks in the order in which they were enqueued; with `node` those that the node looks after. */
  dispatched(node?: string | null): Promise<Task[]>;
  countDispatched(queue: string): Promise<number>;
  /** Unfinished tasks of the producer that have a callback. */
  owedTo(producer: SessionId): Promise<Task[]>;
  /** The first pending task of the queue that is due. Skips tasks of the `held` starters. */
  next(queue: string, now: number, held?: readonly SessionId[]): Promise<Task | null>;
  /** When the next delayed task may start. */
  nextDue(queue: string): Promise<number | null>;
  /** Position among the pending tasks of its queue, from 1; null if it is not pending. */
  position(id: TaskId): Promise<number | null>;
  /** The number of tasks by status, for each queue that has tasks. */
  counts(): Promise<Map<string, TaskCounts>>;
  /** A task's attempts, oldest first. */
  attempts(task: TaskId): Promise<Attempt[]>;
  /** Attempts of a queue that are running or ended after `since`. Ended attempts come first, ordered by end. */
  attemptsSince(queue: string, since: number): Promise<Attempt[]>;
  /** The newest ended attempts of a queue. */
  recentAttempts(queue: string, limit: number): Promise<Attempt[]>;
  /** Open sessions of ended attempts; with `node` those of that node. */
  strayWorkers(node?: string | null): Promise<SessionId[]>;
}

export interface TaskTable extends TaskReads {
  insert(task: Task): Promise<void>;
  update(id: TaskId, change: Partial<Omit<Task, "id" | "queue" | "payload">>): Promise<void>;
  /** Replaces a payload that will not be sent again with its redacted text. */
  replacePayload(id: TaskId, payload: string): Promise<void>;
  /** Moves the task to the end of its queue. */
  moveToEnd(id: TaskId): Promise<void>;
  insertAttempt(attempt: Attempt): Promise<void>;
  /** Throws `conflict` if the attempt has already ended. */
  endAttempt(task: TaskId, number: number, end: AttemptEnd): Promise<void>;
}

export type AttemptEnd = Pick<Attempt, "error" | "output_tokens" | "cost"> & { at: number };
