/** Workflow runs. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { RunId } from "@aegis/contract/ids.ts";
import type { RunEnd, RunFilter, RunRow, RunTable } from "../store.ts";
import { insertInto, insertRow, type Sql, type Value } from "./sql.ts";

const columns = [
  "id",
  "workflow",
  "args",
  "status",
  "host",
  "starter",
  "callback",
  "chain",
  "hops",
  "code",
  "epoch",
  "phase",
  "resumes",
  "retries",
  "forked_from",
  "parked",
  "result",
  "error",
  "created_at",
  "resumed_at",
  "ended_at",
  "owner",
  "lease_until",
] as const satisfies (keyof RunRow)[];
type Column = (typeof columns)[number];

/** Columns that hold JSON. */
const structured: ReadonlySet<Column> = new Set<Column>(["args", "starter", "parked", "result", "error"]);
/** As stored: structured values are JSON; SQLite has no booleans. */
type Stored = Record<Column, string | number | null>;

const select = `SELECT ${columns.join(", ")} FROM runs`;
const insert = insertInto("runs", columns);

export class SqlRuns implements RunTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(id: RunId): Promise<RunRow | null> {
    const stored = await this.#sql.get<Stored>(`${select} WHERE id = ?`, id);
    return stored === undefined ? null : fromStored(stored);
  }

  async list({ workflow, status, limit }: RunFilter): Promise<RunRow[]> {
    const conditions: string[] = [];
    const values: Value[] = [];
    for (const [column, value] of [["workflow", workflow] as const, ["status", status] as const]) {
      if (value === undefined) continue;
      conditions.push(`${column} = ?`);
      values.push(value);
    }
    const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
    return (await this.#sql.all<Stored>(`${select} ${where} ORDER BY position DESC LIMIT ?`, ...values, limit)).map(
      fromStored,
    );
  }

  async unfinished(): Promise<RunRow[]> {
    return (await this.#sql.all<Stored>(`${select} WHERE ended_at IS NULL ORDER BY position`)).map(fromStored);
  }

  async endingWith(text: string, limit: number): Promise<RunId[]> {
    const query = "SELECT id FROM runs WHERE substr(id, length(id) - length(?) + 1) = ? ORDER BY position DESC LIMIT ?";
    return (await this.#sql.all<{ id: RunId }>(query, text, text, limit)).map((row) => row.id);
  }

  async hold(id: RunId): Promise<Pick<RunRow, "status" | "owner"> | null> {
    return (
      (await this.#sql.get<Pick<RunRow, "status" | "owner">>("SELECT status, owner FROM runs WHERE id = ?", id)) ?? null
    );
  }

  async insert(run: RunRow): Promise<void> {
    await insertRow(
      this.#sql,
      insert,
      columns.map((column) => toValue(column, run[column])),
      {
        taken: `the run ${run.id} was started before`,
      },
    );
  }

  async update(id: RunId, change: Partial<RunRow>): Promise<void> {
    const changed = columns.filter((column) => column in change);
    if (changed.length === 0) return;
    const values = changed.map((column) => toValue(column, change[column]));
    const text = `UPDATE runs SET ${changed.map((column) => `${column} = ?`).join(", ")} WHERE id = ?`;
    if ((await this.#sql.run(text, ...values, id)) === 0) throw new AegisError("not_found", `no run ${id}`);
  }

  async renew(owner: string, until: number): Promise<void> {
    await this.#sql.run("UPDATE runs SET lease_until = ? WHERE owner = ? AND ended_at IS NULL", until, owner);
  }

  async end(id: RunId, { status, result, error, at }: RunEnd): Promise<void> {
    const text = `UPDATE runs SET status = ?, result = ?, error = ?, ended_at = ?, parked = NULL, owner = NULL,
      lease_until = NULL WHERE id = ? AND ended_at IS NULL`;
    const values = [status, toValue("result", result), toValue("error", error), at] as const;
    if ((await this.#sql.run(text, ...values, id)) === 0) throw new AegisError("conflict", `run ${id} has ended`);
  }
}

function toValue(column: Column, value: unknown): Value {
  if (value === null || value === undefined) return null;
  if (structured.has(column)) return JSON.stringify(value);
  if (typeof value === "boolean") return value ? 1 : 0;
  return value as Value;
}

function fromStored(stored: Stored): RunRow {
  const row: Record<string, unknown> = { ...stored, callback: stored.callback === 1 };
  for (const column of structured) {
    const value = stored[column];
    if (typeof value === "string") row[column] = JSON.parse(value);
  }
  return row as RunRow;
}
