/** Steps of runs, in the order in which they started. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { RunId, SessionId, TaskId } from "@aegis/contract/ids.ts";
import type { StepFilter } from "../run-tables.ts";
import type { StepEnd, StepName, StepRow, StepTable } from "../store.ts";
import { insertInto, insertRow, type Sql, type Value } from "./sql.ts";

const columns = [
  "run",
  "epoch",
  "scope",
  "key",
  "occurrence",
  "method",
  "label",
  "status",
  "ended",
  "error",
  "started_at",
  "ended_at",
  "begun",
  "result",
  "failure",
  "session",
] as const satisfies (keyof StepRow)[];

const select = `SELECT ${columns.join(", ")} FROM steps`;
const insert = insertInto("steps", columns);
const byName = "run = ? AND epoch = ? AND scope = ? AND key = ? AND occurrence = ?";
/** A forked run shares sessions with the original run. */
const heldByLive = `SELECT 1 FROM steps AS other JOIN runs AS live ON live.id = other.run
  WHERE other.session = steps.session AND live.ended_at IS NULL`;
const copied = columns.filter((column) => column !== "run").join(", ");

export class SqlSteps implements StepTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async list(run: RunId, { status, methods, limit }: StepFilter = {}): Promise<StepRow[]> {
    const values: Value[] = [run];
    let where = "run = ?";
    const add = (condition: string, value: Value) => {
      where += ` AND ${condition}`;
      values.push(value);
    };
    if (status !== undefined) add("status = ?", status);
    if (methods !== undefined) add(`method ${this.#sql.dialect.inArray}`, JSON.stringify(methods));
    if (limit !== undefined) values.push(limit);
    const upTo = limit === undefined ? "" : " LIMIT ?";
    return this.#sql.all<StepRow>(`${select} WHERE ${where} ORDER BY position${upTo}`, ...values);
  }

  async ofTask(task: TaskId): Promise<RunId | null> {
    const text = `SELECT run FROM steps WHERE (method = 'enqueue' AND result = ?) OR (method = 'delegate' AND begun = ?)
      ORDER BY position LIMIT 1`;
    const found = await this.#sql.get<{ run: RunId }>(text, JSON.stringify(task), JSON.stringify({ task }));
    return found?.run ?? null;
  }

  async countEnded(run: RunId): Promise<number> {
    const text = "SELECT count(*) AS count FROM steps WHERE run = ? AND ended IS NOT NULL";
    return (await this.#sql.get<{ count: number }>(text, run))?.count ?? 0;
  }

  async sessions(run: RunId, { unshared }: { unshared: boolean } = { unshared: false }): Promise<SessionId[]> {
    const alone = unshared ? `AND NOT EXISTS (${heldByLive} AND other.run <> steps.run)` : "";
    const text = `SELECT session FROM steps WHERE run = ? AND session IS NOT NULL ${alone} ORDER BY position`;
    return (await this.#sql.all<{ session: SessionId }>(text, run)).map((row) => row.session);
  }

  async straySessions(): Promise<SessionId[]> {
    const text = `SELECT DISTINCT sessions.id FROM steps JOIN sessions ON sessions.id = steps.session
      JOIN runs ON runs.id = steps.run
      WHERE steps.session IS NOT NULL AND sessions.closed_at IS NULL AND runs.ended_at IS NOT NULL
      AND NOT EXISTS (${heldByLive})`;
    return (await this.#sql.all<{ id: SessionId }>(text)).map((row) => row.id);
  }

  async insert(step: StepRow): Promise<void> {
    await insertRow(
      this.#sql,
      insert,
      columns.map((column) => step[column]),
      {
        taken: `the step "${step.label}" of run ${step.run} is already recorded`,
        reference: `no run ${step.run} for its step "${step.label}"`,
      },
    );
  }

  async end({ run, epoch, scope, key, occurrence }: StepName, end: StepEnd): Promise<void> {
    const text = `UPDATE steps SET status = ?, ended = ?, ended_at = ?, result = ?, failure = ?, error = ?
      WHERE ${byName} AND ended IS NULL`;
    const values = [end.status, end.ended, end.at, end.result, end.failure, end.error] as const;
    const changes = await this.#sql.run(text, ...values, run, epoch, scope, key, occurrence);
    if (changes === 0) throw new AegisError("conflict", `a step of run ${run} is not running`);
  }

  async remove(run: RunId, from: { epoch: number } | { names: readonly StepName[] }): Promise<void> {
    if ("epoch" in from) {
      await this.#sql.run("DELETE FROM steps WHERE run = ? AND epoch >= ?", run, from.epoch);
      return;
    }
    for (const { epoch, scope, key, occurrence } of from.names)
      await this.#sql.run(`DELETE FROM steps WHERE ${byName}`, run, epoch, scope, key, occurrence);
  }

  async copy(from: RunId, to: RunId, epochs: number): Promise<void> {
    const text = `INSERT INTO steps (run, ${copied}) SELECT ?, ${copied} FROM steps
      WHERE run = ? AND epoch < ? AND ended IS NOT NULL ORDER BY position`;
    await this.#sql.run(text, to, from, epochs);
  }
}
