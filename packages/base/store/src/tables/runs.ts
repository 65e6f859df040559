/** Workflow runs. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { RunId } from "@aegis/contract/ids.ts";
import type { Run, RunStatus } from "@aegis/contract/run.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { matching, Table, TableReads } from "../sql/table.ts";

/** A run as stored: the fields that clients see, and its executor. */
export type RunRow = Omit<Run, "node"> & {
  /** The executor that holds the run. No other executor may use the run before the lease expires. */
  owner: string | null;
  lease_until: number | null;
};

export type RunFilter = { workflow?: string | undefined; status?: RunStatus | undefined; limit: number };

export type RunEnd = Pick<Run, "result" | "error"> & { status: "ok" | "error" | "cancelled"; at: number };

/** A run is resumed, retried and forked from its arguments. */
const table = new Table<RunRow>("runs", {
  id: "plain",
  workflow: "name",
  args: "json whole",
  status: "plain",
  host: "plain",
  starter: "json name",
  callback: "flag",
  chain: "plain",
  hops: "plain",
  code: "name",
  epoch: "plain",
  phase: "text",
  resumes: "plain",
  retries: "plain",
  forked_from: "plain",
  parked: "json text",
  result: "json text",
  error: "json text",
  created_at: "plain",
  resumed_at: "plain",
  ended_at: "plain",
  owner: "name",
  lease_until: "plain",
});

export class RunReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  get(id: RunId): Promise<RunRow | null> {
    return table.one(this.sql, "WHERE id = ?", id);
  }

  /** Newest first. */
  list({ workflow, status, limit }: RunFilter): Promise<RunRow[]> {
    const { where, values } = matching({ workflow, status });
    return table.all(this.sql, `${where} ORDER BY position DESC LIMIT ?`, ...values, limit);
  }

  /** Unfinished runs, oldest first. */
  unfinished(): Promise<RunRow[]> {
    return table.all(this.sql, "WHERE ended_at IS NULL ORDER BY position");
  }

  /** Ids of runs with this suffix. */
  async endingWith(text: string, limit: number): Promise<RunId[]> {
    const query = "SELECT id FROM runs WHERE substr(id, length(id) - length(?) + 1) = ? ORDER BY position DESC LIMIT ?";
    return (await this.sql.all<{ id: RunId }>(query, text, text, limit)).map((row) => row.id);
  }

  /** The fields that a step checks before it writes. */
  async hold(id: RunId): Promise<Pick<RunRow, "status" | "owner"> | null> {
    const text = "SELECT status, owner FROM runs WHERE id = ?";
    return (await this.sql.get<Pick<RunRow, "status" | "owner">>(text, id)) ?? null;
  }
}

export class RunWrites extends RunReads<RowWriter> {
  async insert(run: RunRow): Promise<void> {
    await this.sql.insert(table, run, { taken: `the run ${run.id} was started before` });
  }

  async update(id: RunId, change: Partial<Omit<RunRow, "id" | "workflow" | "args" | "created_at">>): Promise<void> {
    if (!(await this.sql.update(table, change, ["id = ?", id]))) throw new AegisError("not_found", `no run ${id}`);
  }

  /** Extends the lease of every run of this owner. */
  async renew(owner: string, until: number): Promise<void> {
    await this.sql.update(table, { lease_until: until }, ["owner = ? AND ended_at IS NULL", owner]);
  }

  /** Throws `conflict` if the run has already ended. */
  async end(id: RunId, { status, result, error, at }: RunEnd): Promise<void> {
    const change = { status, result, error, ended_at: at, parked: null, owner: null, lease_until: null };
    if (!(await this.sql.update(table, change, ["id = ? AND ended_at IS NULL", id])))
      throw new AegisError("conflict", `run ${id} has ended`);
  }
}
