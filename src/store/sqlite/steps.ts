/** Steps of runs, in the order they were begun. */
import { AegisError } from "../../contract/errors.ts";
import type { RunId, SessionId } from "../../contract/ids.ts";
import type { StepFilter } from "../run-tables.ts";
import type { StepEnd, StepName, StepRow, StepTable } from "../store.ts";
import type { Sql } from "./connection.ts";
import { onConstraint } from "./errors.ts";

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
const insert = `INSERT INTO steps (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
const byName = "run = ? AND epoch = ? AND scope = ? AND key = ? AND occurrence = ?";
/** A run that was forked shares sessions with the one it came from. */
const heldByLive = `SELECT 1 FROM steps AS other JOIN runs AS live ON live.id = other.run
  WHERE other.session = steps.session AND live.ended_at IS NULL`;
const copied = columns.filter((column) => column !== "run").join(", ");

export class SqliteSteps implements StepTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async list(run: RunId, { status, methods, limit = -1 }: StepFilter = {}): Promise<StepRow[]> {
    const values = [run, ...(status === undefined ? [] : [status]), ...(methods ?? []), limit];
    const ofStatus = status === undefined ? "" : " AND status = ?";
    const ofMethod = methods === undefined ? "" : ` AND method IN (${methods.map(() => "?").join(", ")})`;
    return this.#sql.all<StepRow>(`${select} WHERE run = ?${ofStatus}${ofMethod} ORDER BY position LIMIT ?`, ...values);
  }

  async countEnded(run: RunId): Promise<number> {
    const text = "SELECT count(*) AS count FROM steps WHERE run = ? AND ended IS NOT NULL";
    return this.#sql.get<{ count: number }>(text, run)?.count ?? 0;
  }

  async sessions(run: RunId, { unshared }: { unshared: boolean } = { unshared: false }): Promise<SessionId[]> {
    const alone = unshared ? `AND NOT EXISTS (${heldByLive} AND other.run <> steps.run)` : "";
    const text = `SELECT session FROM steps WHERE run = ? AND session IS NOT NULL ${alone} ORDER BY position`;
    return this.#sql.all<{ session: SessionId }>(text, run).map((row) => row.session);
  }

  async straySessions(): Promise<SessionId[]> {
    const text = `SELECT DISTINCT sessions.id FROM steps JOIN sessions ON sessions.id = steps.session
      JOIN runs ON runs.id = steps.run
      WHERE steps.session IS NOT NULL AND sessions.closed_at IS NULL AND runs.ended_at IS NOT NULL
      AND NOT EXISTS (${heldByLive})`;
    return this.#sql.all<{ id: SessionId }>(text).map((row) => row.id);
  }

  async insert(step: StepRow): Promise<void> {
    try {
      this.#sql.run(insert, ...columns.map((column) => step[column]));
    } catch (error) {
      throw onConstraint(error, {
        unique: `the step "${step.label}" of run ${step.run} is on record`,
        reference: `no run ${step.run} for its step "${step.label}"`,
      });
    }
  }

  async end({ run, epoch, scope, key, occurrence }: StepName, end: StepEnd): Promise<void> {
    const text = `UPDATE steps SET status = ?, ended = ?, ended_at = ?, result = ?, failure = ?, error = ?
      WHERE ${byName} AND ended IS NULL`;
    const values = [end.status, end.ended, end.at, end.result, end.failure, end.error] as const;
    const { changes } = this.#sql.run(text, ...values, run, epoch, scope, key, occurrence);
    if (changes === 0) throw new AegisError("conflict", `a step of run ${run} is not under way`);
  }

  async remove(run: RunId, from: { epoch: number } | { names: readonly StepName[] }): Promise<void> {
    if ("epoch" in from) {
      this.#sql.run("DELETE FROM steps WHERE run = ? AND epoch >= ?", run, from.epoch);
      return;
    }
    for (const { epoch, scope, key, occurrence } of from.names)
      this.#sql.run(`DELETE FROM steps WHERE ${byName}`, run, epoch, scope, key, occurrence);
  }

  async copy(from: RunId, to: RunId, epochs: number): Promise<void> {
    const text = `INSERT INTO steps (run, ${copied}) SELECT ?, ${copied} FROM steps
      WHERE run = ? AND epoch < ? AND ended IS NOT NULL ORDER BY position`;
    this.#sql.run(text, to, from, epochs);
  }
}
