/** Tasks in the order they were enqueued, and the tries at them. */
import { AegisError } from "../../contract/errors.ts";
import type { SessionId, TaskId } from "../../contract/ids.ts";
import type { Attempt, Task, TaskStatus } from "../../contract/task.ts";
import type { AttemptEnd, TaskCounts, TaskTable } from "../store.ts";
import type { Sql, Value } from "./connection.ts";
import { onConstraint } from "./errors.ts";

/** As stored: SQLite has no booleans. */
type Stored = Omit<Task, "callback"> & { callback: number };

const columns = [
  "id",
  "queue",
  "payload",
  "status",
  "producer",
  "callback",
  "chain",
  "hops",
  "attempts",
  "failures",
  "worker",
  "result",
  "error",
  "enqueued_at",
  "not_before",
  "dispatched_at",
  "ended_at",
] as const satisfies (keyof Task)[];
const select = `SELECT ${columns.join(", ")} FROM tasks`;
const insert = `INSERT INTO tasks (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;

const attemptColumns = [
  "task",
  "queue",
  "number",
  "worker",
  "started_at",
  "ended_at",
  "error",
  "output_tokens",
  "cost",
] as const satisfies (keyof Attempt)[];
const selectAttempts = `SELECT ${attemptColumns.join(", ")} FROM attempts`;
const insertAttempt = `INSERT INTO attempts (${attemptColumns.join(", ")}) VALUES (${attemptColumns.map(() => "?").join(", ")})`;
const endAttempt = `UPDATE attempts SET ended_at = ?, error = ?, output_tokens = ?, cost = ?
  WHERE task = ? AND number = ? AND ended_at IS NULL`;

const pending = "queue = ? AND status = 'pending'";
const due = `${pending} AND (not_before IS NULL OR not_before <= ?)`;

export class SqliteTasks implements TaskTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(id: TaskId): Promise<Task | null> {
    return toTask(this.#sql.get<Stored>(`${select} WHERE id = ?`, id));
  }

  async list(filter: { queue?: string | undefined; status?: TaskStatus | undefined; limit: number }): Promise<Task[]> {
    const conditions: string[] = [];
    const values: Value[] = [];
    for (const [column, value] of [
      ["queue", filter.queue],
      ["status", filter.status],
    ] as const) {
      if (value === undefined) continue;
      conditions.push(`${column} = ?`);
      values.push(value);
    }
    const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
    return this.#list(`${where} ORDER BY position DESC LIMIT ?`, ...values, filter.limit);
  }

  async dispatched(): Promise<Task[]> {
    return this.#list("WHERE status = 'dispatched' ORDER BY position");
  }

  async countDispatched(queue: string): Promise<number> {
    return this.#count("SELECT count(*) AS count FROM tasks WHERE queue = ? AND status = 'dispatched'", queue);
  }

  async owedTo(producer: SessionId): Promise<Task[]> {
    const where = "WHERE producer = ? AND callback = 1 AND status IN ('pending', 'dispatched')";
    return this.#list(`${where} ORDER BY position`, producer);
  }

  async next(queue: string, now: number): Promise<Task | null> {
    return toTask(this.#sql.get<Stored>(`${select} WHERE ${due} ORDER BY position LIMIT 1`, queue, now));
  }

  async nextDue(queue: string): Promise<number | null> {
    const text = `SELECT min(not_before) AS due FROM tasks WHERE ${pending}`;
    return this.#sql.get<{ due: number | null }>(text, queue)?.due ?? null;
  }

  async position(id: TaskId): Promise<number | null> {
    const at = this.#sql.get<{ queue: string; position: number }>(
      "SELECT queue, position FROM tasks WHERE id = ? AND status = 'pending'",
      id,
    );
    if (at === undefined) return null;
    return this.#count(`SELECT count(*) AS count FROM tasks WHERE ${pending} AND position <= ?`, at.queue, at.position);
  }

  async counts(): Promise<Map<string, TaskCounts>> {
    const counts = new Map<string, TaskCounts>();
    const rows = this.#sql.all<{ queue: string; status: TaskStatus; count: number }>(
      "SELECT queue, status, count(*) AS count FROM tasks GROUP BY queue, status",
    );
    for (const { queue, status, count } of rows) {
      const ofQueue = counts.get(queue) ?? { pending: 0, dispatched: 0, completed: 0, failed: 0, cancelled: 0 };
      ofQueue[status] = count;
      counts.set(queue, ofQueue);
    }
    return counts;
  }

  async attempts(task: TaskId): Promise<Attempt[]> {
    return this.#sql.all<Attempt>(`${selectAttempts} WHERE task = ? ORDER BY number`, task);
  }

  async attemptsSince(queue: string, since: number): Promise<Attempt[]> {
    const ended = `${selectAttempts} WHERE queue = ? AND ended_at > ? ORDER BY ended_at`;
    const running = `${selectAttempts} WHERE queue = ? AND ended_at IS NULL ORDER BY started_at`;
    return [...this.#sql.all<Attempt>(ended, queue, since), ...this.#sql.all<Attempt>(running, queue)];
  }

  async recentAttempts(queue: string, limit: number): Promise<Attempt[]> {
    const text = `${selectAttempts} WHERE queue = ? AND ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT ?`;
    return this.#sql.all<Attempt>(text, queue, limit);
  }

  async strayWorkers(): Promise<SessionId[]> {
    const text = `SELECT sessions.id FROM sessions JOIN attempts ON attempts.worker = sessions.id
      WHERE sessions.closed_at IS NULL AND attempts.ended_at IS NOT NULL`;
    return this.#sql.all<{ id: SessionId }>(text).map((row) => row.id);
  }

  async insert(task: Task): Promise<void> {
    try {
      this.#sql.run(insert, ...columns.map((column) => toValue(task[column])));
    } catch (error) {
      throw onConstraint(error, { unique: `the task ${task.id} was enqueued before` });
    }
  }

  async update(id: TaskId, change: Partial<Omit<Task, "id" | "queue" | "payload">>): Promise<void> {
    const changed = columns.filter((column) => column in change);
    if (changed.length === 0) return;
    const values = changed.map((column) => toValue(change[column as keyof typeof change]));
    const text = `UPDATE tasks SET ${changed.map((column) => `${column} = ?`).join(", ")} WHERE id = ?`;
    if (this.#sql.run(text, ...values, id).changes === 0) throw new AegisError("not_found", `no task ${id}`);
  }

  async moveToEnd(id: TaskId): Promise<void> {
    const text = "UPDATE tasks SET position = (SELECT max(position) + 1 FROM tasks) WHERE id = ?";
    if (this.#sql.run(text, id).changes === 0) throw new AegisError("not_found", `no task ${id}`);
  }

  async insertAttempt(attempt: Attempt): Promise<void> {
    try {
      this.#sql.run(insertAttempt, ...attemptColumns.map((column) => attempt[column]));
    } catch (error) {
      throw onConstraint(error, {
        unique: `try ${attempt.number} of task ${attempt.task} was begun before`,
        reference: `no task ${attempt.task}`,
      });
    }
  }

  async endAttempt(task: TaskId, number: number, { at, error, output_tokens, cost }: AttemptEnd): Promise<void> {
    const { changes } = this.#sql.run(endAttempt, at, error, output_tokens, cost, task, number);
    if (changes === 0) throw new AegisError("conflict", `try ${number} of task ${task} is not under way`);
  }

  #list(rest: string, ...values: Value[]): Task[] {
    return this.#sql.all<Stored>(`${select} ${rest}`, ...values).map(fromStored);
  }

  #count(text: string, ...values: Value[]): number {
    return this.#sql.get<{ count: number }>(text, ...values)?.count ?? 0;
  }
}

function toValue(value: string | number | boolean | null | undefined): Value {
  if (typeof value === "boolean") return value ? 1 : 0;
  return value ?? null;
}

function toTask(stored: Stored | undefined): Task | null {
  return stored === undefined ? null : fromStored(stored);
}

function fromStored(stored: Stored): Task {
  return { ...stored, callback: stored.callback === 1 };
}
