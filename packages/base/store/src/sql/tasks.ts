/** Tasks in the order in which they were enqueued, and their attempts. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId, TaskId } from "@aegis/contract/ids.ts";
import type { Attempt, Task, TaskStatus } from "@aegis/contract/task.ts";
import type { AttemptEnd, TaskCounts, TaskTable } from "../store.ts";
import { insertInto, insertRow, type Sql, type Value } from "./sql.ts";

/** As stored: SQLite has no booleans; a starter is JSON. */
type Stored = Omit<Task, "callback" | "starter"> & { callback: number; starter: string | null };

const columns = [
  "id",
  "queue",
  "payload",
  "status",
  "producer",
  "starter",
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
const insert = insertInto("tasks", columns);

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
const insertAttempt = insertInto("attempts", attemptColumns);
const endAttempt = `UPDATE attempts SET ended_at = ?, error = ?, output_tokens = ?, cost = ?
  WHERE task = ? AND number = ? AND ended_at IS NULL`;

const pending = "queue = ? AND status = 'pending'";
const due = `${pending} AND (not_before IS NULL OR not_before <= ?)`;

export class SqlTasks implements TaskTable {
  readonly #sql: Sql;
  readonly #scrub: () => void;

  constructor(sql: Sql, scrub: () => void) {
    this.#sql = sql;
    this.#scrub = scrub;
  }

  async get(id: TaskId): Promise<Task | null> {
    return toTask(await this.#sql.get<Stored>(`${select} WHERE id = ?`, id));
  }

  async list(filter: { queue?: string | undefined; status?: TaskStatus | undefined; limit?: number }): Promise<Task[]> {
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
    const text = `${where} ORDER BY position DESC`;
    if (filter.limit === undefined) return this.#list(text, ...values);
    return this.#list(`${text} LIMIT ?`, ...values, filter.limit);
  }

  async dispatched(node?: string | null): Promise<Task[]> {
    if (node === undefined) return this.#list("WHERE status = 'dispatched' ORDER BY position");
    return this.#list("WHERE status = 'dispatched' AND node IS NOT DISTINCT FROM ? ORDER BY position", node);
  }

  async countDispatched(queue: string): Promise<number> {
    return this.#count("SELECT count(*) AS count FROM tasks WHERE queue = ? AND status = 'dispatched'", queue);
  }

  async owedTo(producer: SessionId): Promise<Task[]> {
    const where = "WHERE producer = ? AND callback = 1 AND status IN ('pending', 'dispatched')";
    return this.#list(`${where} ORDER BY position`, producer);
  }

  async next(queue: string, now: number, held: readonly SessionId[] = []): Promise<Task | null> {
    const others = `coalesce(starter ->> '$.session', producer, '') NOT IN (${held.map(() => "?").join(", ")})`;
    const where = held.length === 0 ? due : `${due} AND ${others}`;
    return toTask(
      await this.#sql.get<Stored>(`${select} WHERE ${where} ORDER BY position LIMIT 1`, queue, now, ...held),
    );
  }

  async nextDue(queue: string): Promise<number | null> {
    const text = `SELECT min(not_before) AS due FROM tasks WHERE ${pending}`;
    return (await this.#sql.get<{ due: number | null }>(text, queue))?.due ?? null;
  }

  async position(id: TaskId): Promise<number | null> {
    const at = await this.#sql.get<{ queue: string; position: number }>(
      "SELECT queue, position FROM tasks WHERE id = ? AND status = 'pending'",
      id,
    );
    if (at === undefined) return null;
    return this.#count(`SELECT count(*) AS count FROM tasks WHERE ${pending} AND position <= ?`, at.queue, at.position);
  }

  async counts(): Promise<Map<string, TaskCounts>> {
    const counts = new Map<string, TaskCounts>();
    const rows = await this.#sql.all<{ queue: string; status: TaskStatus; count: number }>(
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
    return await this.#sql.all<Attempt>(`${selectAttempts} WHERE task = ? ORDER BY number`, task);
  }

  async attemptsSince(queue: string, since: number): Promise<Attempt[]> {
    const ended = `${selectAttempts} WHERE queue = ? AND ended_at > ? ORDER BY ended_at`;
    const running = `${selectAttempts} WHERE queue = ? AND ended_at IS NULL ORDER BY started_at`;
    return [...(await this.#sql.all<Attempt>(ended, queue, since)), ...(await this.#sql.all<Attempt>(running, queue))];
  }

  async recentAttempts(queue: string, limit: number): Promise<Attempt[]> {
    const text = `${selectAttempts} WHERE queue = ? AND ended_at IS NOT NULL ORDER BY ended_at DESC LIMIT ?`;
    return await this.#sql.all<Attempt>(text, queue, limit);
  }

  async strayWorkers(node?: string | null): Promise<SessionId[]> {
    const text = `SELECT sessions.id FROM sessions JOIN attempts ON attempts.worker = sessions.id
      WHERE sessions.closed_at IS NULL AND attempts.ended_at IS NOT NULL`;
    const rows =
      node === undefined
        ? await this.#sql.all<{ id: SessionId }>(text)
        : await this.#sql.all<{ id: SessionId }>(`${text} AND sessions.node IS NOT DISTINCT FROM ?`, node);
    return rows.map((row) => row.id);
  }

  async insert(task: Task): Promise<void> {
    await insertRow(
      this.#sql,
      insert,
      columns.map((column) => toValue(task[column])),
      {
        taken: `the task ${task.id} was enqueued before`,
      },
    );
  }

  async update(id: TaskId, change: Partial<Omit<Task, "id" | "queue" | "payload">>): Promise<void> {
    const changed = columns.filter((column) => column in change);
    if (changed.length === 0) return;
    const values = changed.map((column) => toValue(change[column as keyof typeof change]));
    const assigned = changed.map((column) => `${column} = ?`);
    // The node that dispatches a task looks after its worker.
    if (change.status === "dispatched" && this.#sql.node !== null) {
      assigned.push("node = ?");
      values.push(this.#sql.node);
    }
    const text = `UPDATE tasks SET ${assigned.join(", ")} WHERE id = ?`;
    if ((await this.#sql.run(text, ...values, id)) === 0) throw new AegisError("not_found", `no task ${id}`);
  }

  async replacePayload(id: TaskId, payload: string): Promise<void> {
    await this.#sql.run("UPDATE tasks SET payload = ? WHERE id = ?", payload, id);
    this.#scrub();
  }

  async moveToEnd(id: TaskId): Promise<void> {
    const text = `UPDATE tasks SET position = ${this.#sql.dialect.lastTaskPosition} WHERE id = ?`;
    if ((await this.#sql.run(text, id)) === 0) throw new AegisError("not_found", `no task ${id}`);
  }

  async insertAttempt(attempt: Attempt): Promise<void> {
    await insertRow(
      this.#sql,
      insertAttempt,
      attemptColumns.map((column) => attempt[column]),
      {
        taken: `try ${attempt.number} of task ${attempt.task} was begun before`,
        reference: `no task ${attempt.task}`,
      },
    );
  }

  async endAttempt(task: TaskId, number: number, { at, error, output_tokens, cost }: AttemptEnd): Promise<void> {
    const changes = await this.#sql.run(endAttempt, at, error, output_tokens, cost, task, number);
    if (changes === 0) throw new AegisError("conflict", `attempt ${number} of task ${task} is not running`);
  }

  async #list(rest: string, ...values: Value[]): Promise<Task[]> {
    return (await this.#sql.all<Stored>(`${select} ${rest}`, ...values)).map(fromStored);
  }

  async #count(text: string, ...values: Value[]): Promise<number> {
    return (await this.#sql.get<{ count: number }>(text, ...values))?.count ?? 0;
  }
}

function toValue(value: string | number | boolean | object | null | undefined): Value {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "object" && value !== null) return JSON.stringify(value);
  return value ?? null;
}

function toTask(stored: Stored | undefined): Task | null {
  return stored === undefined ? null : fromStored(stored);
}

function fromStored(stored: Stored): Task {
  const starter = stored.starter === null ? null : (JSON.parse(stored.starter) as Task["starter"]);
  return { ...stored, starter, callback: stored.callback === 1 };
}
