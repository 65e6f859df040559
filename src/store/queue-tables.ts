/** The part of the store port that keeps queues and their tasks. */
import type { SessionId, TaskId } from "../contract/ids.ts";
import type { Attempt, QueueSettings, Task, TaskStatus } from "../contract/task.ts";

/** What is kept of a queue: its settings if it was added at run time, and whether it is paused. */
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
  /** Newest first. */
  list(filter: { queue?: string | undefined; status?: TaskStatus | undefined; limit: number }): Promise<Task[]>;
  /** Every task under way, in the order they were enqueued. */
  dispatched(): Promise<Task[]>;
  countDispatched(queue: string): Promise<number>;
  /** Unfinished tasks that the session gave and will be told of. */
  owedTo(producer: SessionId): Promise<Task[]>;
  /** The first pending task of the queue that need not wait any longer. */
  next(queue: string, now: number): Promise<Task | null>;
  /** When the next pending task that waits may start. */
  nextDue(queue: string): Promise<number | null>;
  /** Place among the pending tasks of its queue, from 1; null when it is not pending. */
  position(id: TaskId): Promise<number | null>;
  /** Tasks of each queue that has any, by status. */
  counts(): Promise<Map<string, TaskCounts>>;
  /** A task's tries, oldest first. */
  attempts(task: TaskId): Promise<Attempt[]>;
  /** Tries of a queue that are under way or ended after `since`; those that ended come first, by when. */
  attemptsSince(queue: string, since: number): Promise<Attempt[]>;
  /** The newest tries of a queue that have ended. */
  recentAttempts(queue: string, limit: number): Promise<Attempt[]>;
  /** Open sessions of tries that have ended. */
  strayWorkers(): Promise<SessionId[]>;
}

export interface TaskTable extends TaskReads {
  insert(task: Task): Promise<void>;
  update(id: TaskId, change: Partial<Omit<Task, "id" | "queue" | "payload">>): Promise<void>;
  /** Behind all others of its queue. */
  moveToEnd(id: TaskId): Promise<void>;
  insertAttempt(attempt: Attempt): Promise<void>;
  /** Throws `conflict` when it has ended before. */
  endAttempt(task: TaskId, number: number, end: AttemptEnd): Promise<void>;
}

export type AttemptEnd = Pick<Attempt, "error" | "output_tokens" | "cost"> & { at: number };
