/** Steps of runs, in the order in which they started. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { RunId, SessionId, TaskId } from "@aegis/contract/ids.ts";
import type { Step, StepStatus } from "@aegis/contract/run.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql, Value } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";

/** A step as stored. Epoch, scope, key and occurrence identify it within its run. */
export type StepRow = Step & {
  key: string;
  occurrence: number;
  /** JSON that was written at its start. */
  begun: string | null;
  /** JSON; null if the step returns nothing or has not succeeded. */
  result: string | null;
  /** JSON of the error that it ended with. */
  failure: string | null;
  /** A session that is closed when the run ends. */
  session: SessionId | null;
};

export type StepName = Pick<StepRow, "run" | "epoch" | "scope" | "key" | "occurrence">;

export type StepFilter = { status?: StepStatus; methods?: readonly string[]; limit?: number };

export type StepEnd = Pick<StepRow, "result" | "failure" | "error"> & {
  status: "ok" | "error";
  ended: number;
  at: number;
};

/** A recorded step returns or throws the same value on replay. */
const columns = {
  epoch: "plain",
  scope: "name",
  key: "name",
  occurrence: "plain",
  method: "name",
  label: "text",
  status: "plain",
  ended: "plain",
  error: "text",
  started_at: "plain",
  ended_at: "plain",
  begun: "whole",
  result: "whole",
  failure: "whole",
  session: "plain",
} as const;
const ownColumns = { run: "plain", ...columns } as const;
const table = new Table<StepRow>("steps", ownColumns);

const byName = "run = ? AND epoch = ? AND scope = ? AND key = ? AND occurrence = ?";
/** A forked run shares sessions with the original run. */
const heldByLive = `SELECT 1 FROM steps AS other JOIN runs AS live ON live.id = other.run
  WHERE other.session = steps.session AND live.ended_at IS NULL`;

export class StepReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  /** In the order in which they started. */
  list(run: RunId, { status, methods, limit }: StepFilter = {}): Promise<StepRow[]> {
    const values: Value[] = [run];
    let where = "run = ?";
    const add = (condition: string, value: Value) => {
      where += ` AND ${condition}`;
      values.push(value);
    };
    if (status !== undefined) add("status = ?", status);
    if (methods !== undefined) add(`method ${this.sql.dialect.inArray}`, JSON.stringify(methods));
    if (limit !== undefined) values.push(limit);
    return table.all(this.sql, `WHERE ${where} ORDER BY position${limit === undefined ? "" : " LIMIT ?"}`, ...values);
  }

  async countEnded(run: RunId): Promise<number> {
    const text = "SELECT count(*) AS count FROM steps WHERE run = ? AND ended IS NOT NULL";
    return (await this.sql.get<{ count: number }>(text, run))?.count ?? 0;
  }

  /** The run whose step enqueued this task. */
  async ofTask(task: TaskId): Promise<RunId | null> {
    const text = `SELECT run FROM steps WHERE (method = 'enqueue' AND result = ?) OR (method = 'delegate' AND begun = ?)
      ORDER BY position LIMIT 1`;
    const found = await this.sql.get<{ run: RunId }>(text, JSON.stringify(task), JSON.stringify({ task }));
    return found?.run ?? null;
  }

  /**
   * Sessions of the run in the order in which they started. `unshared` omits those that another unfinished run also
   * uses.
   */
  async sessions(run: RunId, { unshared }: { unshared: boolean } = { unshared: false }): Promise<SessionId[]> {
    const alone = unshared ? `AND NOT EXISTS (${heldByLive} AND other.run <> steps.run)` : "";
    const text = `SELECT session FROM steps WHERE run = ? AND session IS NOT NULL ${alone} ORDER BY position`;
    return (await this.sql.all<{ session: SessionId }>(text, run)).map((row) => row.session);
  }

  /** Open sessions of ended runs. */
  async straySessions(): Promise<SessionId[]> {
    const text = `SELECT DISTINCT sessions.id FROM steps JOIN sessions ON sessions.id = steps.session
      JOIN runs ON runs.id = steps.run
      WHERE steps.session IS NOT NULL AND sessions.closed_at IS NULL AND runs.ended_at IS NOT NULL
      AND NOT EXISTS (${heldByLive})`;
    return (await this.sql.all<{ id: SessionId }>(text)).map((row) => row.id);
  }
}

export class StepWrites extends StepReads<RowWriter> {
  /** Throws `conflict` if the step is already recorded. */
  async insert(step: StepRow): Promise<void> {
    await this.sql.insert(table, step, {
      taken: `the step "${step.label}" of run ${step.run} is already recorded`,
      reference: `no run ${step.run} for its step "${step.label}"`,
    });
  }

  /** Ends a started step. Throws `conflict` if the step is not open. */
  async end(name: StepName, { status, ended, at, result, failure, error }: StepEnd): Promise<void> {
    const { run, epoch, scope, key, occurrence } = name;
    const change = { status, ended, ended_at: at, result, failure, error };
    const where = [`${byName} AND ended IS NULL`, run, epoch, scope, key, occurrence] as const;
    if (!(await this.sql.update(table, change, where)))
      throw new AegisError("conflict", `a step of run ${run} is not running`);
  }

  /** Deletes these steps. */
  async remove(run: RunId, from: { epoch: number } | { names: readonly StepName[] }): Promise<void> {
    if ("epoch" in from) {
      await this.sql.run("DELETE FROM steps WHERE run = ? AND epoch >= ?", run, from.epoch);
      return;
    }
    for (const { epoch, scope, key, occurrence } of from.names)
      await this.sql.run(`DELETE FROM steps WHERE ${byName}`, run, epoch, scope, key, occurrence);
  }

  /** Copies the ended steps of the first epochs of one run to another. */
  async copy(from: RunId, to: RunId, epochs: number): Promise<void> {
    const copied = Object.keys(columns).join(", ");
    const text = `INSERT INTO steps (run, ${copied}) SELECT ?, ${copied} FROM steps
      WHERE run = ? AND epoch < ? AND ended IS NOT NULL ORDER BY position`;
    await this.sql.run(text, to, from, epochs);
  }
}
