/** Tasks in the order in which they were enqueued, and their attempts. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId, TaskId } from "@aegis/contract/ids.ts";
import type { Attempt, Task, TaskStatus } from "@aegis/contract/task.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql, Value } from "../sql/sql.ts";
import { matching, Table, TableReads } from "../sql/table.ts";

export type TaskCounts = Record<TaskStatus, number>;

export type AttemptEnd = Pick<Attempt, "error" | "output_tokens" | "cost"> & { at: number };

const table = new Table<Task, { node: string }>(
  "tasks",
  {
    id: "plain",
    queue: "name",
    payload: "later",
    status: "plain",
    producer: "plain",
    starter: "json name",
    callback: "flag",
    chain: "plain",
    hops: "plain",
    attempts: "plain",
    failures: "plain",
    worker: "plain",
    result: "text",
    error: "text",
    enqueued_at: "plain",
    not_before: "plain",
    dispatched_at: "plain",
    ended_at: "plain",
  },
  { hidden: { node: "name" } },
);

const attempts = new Table<Attempt>("attempts", {
  task: "plain",
  queue: "name",
  number: "plain",
  worker: "plain",
  started_at: "plain",
  ended_at: "plain",
  error: "text",
  output_tokens: "plain",
  cost: "plain",
});

const pending = "queue = ? AND status = 'pending'";
const due = `${pending} AND (not_before IS NULL OR not_before <= ?)`;

export class TaskReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  get(id: TaskId): Promise<Task | null> {
    return table.one(this.sql, "WHERE id = ?", id);
  }

  /** Newest first; all of them without a limit. */
  list(filter: { queue?: string | undefined; status?: TaskStatus | undefined; limit?: number }): Promise<Task[]> {
    const { where, values } = matching({ queue: filter.queue, status: filter.status });
    const newest = `${where} ORDER BY position DESC`;
    if (filter.limit === undefined) return table.all(this.sql, newest, ...values);
    return table.all(this.sql, `${newest} LIMIT ?`, ...values, filter.limit);
  }

  /** Dispatched tasks in the order in which they were enqueued; with `node` those that the node looks after. */
  dispatched(node?: string | null): Promise<Task[]> {
    const dispatched = "WHERE status = 'dispatched'";
    if (node === undefined) return table.all(this.sql, `${dispatched} ORDER BY position`);
    return table.all(this.sql, `${dispatched} AND node IS NOT DISTINCT FROM ? ORDER BY position`, node);
  }

  /** The task whose last attempt is the session's. */
  ofWorker(worker: SessionId): Promise<Task | null> {
    return table.one(this.sql, "WHERE worker = ? ORDER BY position DESC LIMIT 1", worker);
  }

  countDispatched(queue: string): Promise<number> {
    return this.#count("SELECT count(*) AS count FROM tasks WHERE queue = ? AND status = 'dispatched'", queue);
  }

  /** Unfinished tasks of the producer that have a callback. */
  owedTo(producer: SessionId): Promise<Task[]> {
    const where = "WHERE producer = ? AND callback = 1 AND status IN ('pending', 'dispatched')";
    return table.all(this.sql, `${where} ORDER BY position`, producer);
  }

  /** The first pending task of the queue that is due. Skips tasks of the `held` starters. */
  next(queue: string, now: number, held: readonly SessionId[] = []): Promise<Task | null> {
    const others = `coalesce(starter ->> '$.session', producer, '') NOT IN (${held.map(() => "?").join(", ")})`;
    const where = held.length === 0 ? due : `${due} AND ${others}`;
    return table.one(this.sql, `WHERE ${where} ORDER BY position LIMIT 1`, queue, now, ...held);
  }

  /** When the next delayed task may start. */
  async nextDue(queue: string): Promise<number | null> {
    const text = `SELECT min(not_before) AS due FROM tasks WHERE ${pending}`;
    return (await this.sql.get<{ due: number | null }>(text, queue))?.due ?? null;
  }

  /** Position among the pending tasks of its queue, from 1; null if it is not pending. */
  async position(id: TaskId): Promise<number | null> {
    const at = await this.sql.get<{ queue: string; position: number }>(
      "SELECT queue, position FROM tasks WHERE id = ? AND status = 'pending'",
      id,
    );
    if (at === undefined) return null;
    return this.#count(`SELECT count(*) AS count FROM tasks WHERE ${pending} AND position <= ?`, at.queue, at.position);
  }

  /** The number of tasks by status, for each queue that has tasks. */
  async counts(): Promise<Map<string, TaskCounts>> {
    const counts = new Map<string, TaskCounts>();
    const rows = await this.sql.all<{ queue: string; status: TaskStatus; count: number }>(
      "SELECT queue, status, count(*) AS count FROM tasks GROUP BY queue, status",
    );
    for (const { queue, status, count } of rows) {
      const ofQueue = counts.get(queue) ?? { pending: 0, dispatched: 0, completed: 0, failed: 0, cancelled: 0 };
      ofQueue[status] = count;
      counts.set(queue, ofQueue);
    }
    return counts;
  }

  /** A task's attempts, oldest first. */
  attempts(task: TaskId): Promise<Attempt[]> {
    return attempts.all(this.sql, "WHERE task = ? ORDER BY number", task);
  }

  /** Attempts of a queue that are running or ended after `since`. Ended attempts come first, ordered by end. */
  async attemptsSince(queue: string, since: number): Promise<Attempt[]> {
    const ended = await attempts.all(this.sql, "WHERE queue = ? AND ended_at > ? ORDER BY ended_at", queue, since);
    const running = await attempts.all(this.sql, "WHERE queue = ? AND ended_at IS NULL ORDER BY started_at", queue);
    return [...ended, ...running];
  }

  /** The newest ended attempts of a queue. */
  recentAttempts(queue: string, limit: number): Promise<Attempt[]> {
    const newest = "WHERE queue = ? AND ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT ?";
    return attempts.all(this.sql, newest, queue, limit);
  }

  /** Open sessions of ended attempts; with `node` those of that node. */
  async strayWorkers(node?: string | null): Promise<SessionId[]> {
    const text = `SELECT sessions.id FROM sessions JOIN attempts ON attempts.worker = sessions.id
      WHERE sessions.closed_at IS NULL AND attempts.ended_at IS NOT NULL`;
    const rows =
      node === undefined
        ? await this.sql.all<{ id: SessionId }>(text)
        : await this.sql.all<{ id: SessionId }>(`${text} AND sessions.node IS NOT DISTINCT FROM ?`, node);
    return rows.map((row) => row.id);
  }

  async #count(text: string, ...values: Value[]): Promise<number> {
    return (await this.sql.get<{ count: number }>(text, ...values))?.count ?? 0;
  }
}

export class TaskWrites extends TaskReads<RowWriter> {
  async insert(task: Task): Promise<void> {
    await this.sql.insert(table, task, { taken: `the task ${task.id} was enqueued before` });
  }

  /** A task that will not be tried again loses the secrets of its payload; a failed one can be put back. */
  async update(id: TaskId, change: Partial<Omit<Task, "id" | "queue" | "payload">>): Promise<void> {
    const { node } = this.sql;
    // The node that dispatches a task looks after its worker.
    const all = change.status === "dispatched" && node !== null ? { ...change, node } : change;
    if (!(await this.sql.update(table, all, ["id = ?", id]))) throw new AegisError("not_found", `no task ${id}`);
    if (change.status === "completed" || change.status === "cancelled") await this.#redactPayload(id);
  }

  /** Moves the task to the end of its queue. */
  async moveToEnd(id: TaskId): Promise<void> {
    const text = `UPDATE tasks SET position = ${this.sql.dialect.lastTaskPosition} WHERE id = ?`;
    if ((await this.sql.run(text, id)) === 0) throw new AegisError("not_found", `no task ${id}`);
  }

  async insertAttempt(attempt: Attempt): Promise<void> {
    await this.sql.insert(attempts, attempt, {
      taken: `try ${attempt.number} of task ${attempt.task} was begun before`,
      reference: `no task ${attempt.task}`,
    });
  }

  /** Throws `conflict` if the attempt has already ended. */
  async endAttempt(task: TaskId, number: number, { at, error, output_tokens, cost }: AttemptEnd): Promise<void> {
    const change = { ended_at: at, error, output_tokens, cost };
    if (!(await this.sql.update(attempts, change, ["task = ? AND number = ? AND ended_at IS NULL", task, number])))
      throw new AegisError("conflict", `attempt ${number} of task ${task} is not running`);
  }

  async #redactPayload(id: TaskId): Promise<void> {
    if (!this.sql.redacts) return;
    const task = await this.get(id);
    if (task === null) return;
    const payload = this.sql.clean(task.payload);
    if (payload === task.payload) return;
    await this.sql.update(table, { payload }, ["id = ?", id]);
    this.sql.scrub();
  }
}
