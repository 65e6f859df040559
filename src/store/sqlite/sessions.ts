/** Sessions. At most one is alive under a handle. */
import { AegisError } from "../../contract/errors.ts";
import type { SessionId } from "../../contract/ids.ts";
import type { Session, SessionLimits } from "../../contract/session.ts";
import type { ForkPoint, SessionRow, SessionTable } from "../store.ts";
import type { Sql, Value } from "./connection.ts";
import { onConstraint } from "./errors.ts";

/** As stored: SQLite has no booleans, and what has parts is JSON. */
type Stored = Omit<SessionRow, "offline" | "limits" | "fork_point"> & {
  offline: number;
  limits: string | null;
  fork_point: string | null;
};

const columns = [
  "id",
  "handle",
  "agent",
  "harness",
  "offline",
  "title",
  "title_source",
  "state",
  "error",
  "parent",
  "depth",
  "ask_policy",
  "created_at",
  "closed_at",
  "resume",
  "limits",
  "forked_from",
  "fork_point",
] as const satisfies (keyof SessionRow)[];
const select = `SELECT ${columns.join(", ")} FROM sessions`;
const insert = `INSERT INTO sessions (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;

export class SqliteSessions implements SessionTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(id: SessionId): Promise<SessionRow | null> {
    return toRow(this.#sql.get<Stored>(`${select} WHERE id = ?`, id));
  }

  async byHandle(handle: string): Promise<SessionRow | null> {
    return toRow(this.#sql.get<Stored>(`${select} WHERE handle = ? AND closed_at IS NULL`, handle));
  }

  async list(filter: { closed?: boolean } = {}): Promise<SessionRow[]> {
    const which = filter.closed === undefined ? "" : `WHERE closed_at IS ${filter.closed ? "NOT " : ""}NULL`;
    return this.#sql.all<Stored>(`${select} ${which} ORDER BY position DESC`).map(fromRecord);
  }

  async countByState(): Promise<Record<Session["state"], number>> {
    const counts = { ready: 0, working: 0, error: 0, closed: 0 };
    const rows = this.#sql.all<{ state: Session["state"]; count: number }>(
      "SELECT state, count(*) AS count FROM sessions GROUP BY state",
    );
    for (const { state, count } of rows) counts[state] = count;
    return counts;
  }

  async insert(row: SessionRow): Promise<void> {
    try {
      this.#sql.run(insert, ...columns.map((column) => toValue(row[column])));
    } catch (error) {
      const taken = this.#sql.get("SELECT 1 FROM sessions WHERE id = ?", row.id) !== undefined;
      throw onConstraint(error, {
        unique: taken ? `the session ${row.id} exists` : `the handle "${row.handle}" belongs to a live session`,
        reference: `no session ${row.parent} to be the parent of ${row.id}`,
      });
    }
  }

  async update(id: SessionId, change: Partial<Omit<SessionRow, "id" | "created_at">>): Promise<void> {
    const changed = columns.filter((column) => column in change && change[column as keyof typeof change] !== undefined);
    if (changed.length === 0) return;
    const values = changed.map((column) => toValue(change[column as keyof typeof change]));
    try {
      const text = `UPDATE sessions SET ${changed.map((column) => `${column} = ?`).join(", ")} WHERE id = ?`;
      if (this.#sql.run(text, ...values, id).changes === 0) throw new AegisError("not_found", `no session ${id}`);
    } catch (error) {
      throw onConstraint(error, {
        unique: `the handle "${change.handle ?? ""}" belongs to another live session`,
        reference: `no session ${change.parent} to be the parent of ${id}`,
      });
    }
  }
}

function toValue(value: string | number | boolean | object | null | undefined): Value {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "object" && value !== null) return JSON.stringify(value);
  return value ?? null;
}

function toRow(record: Stored | undefined): SessionRow | null {
  return record === undefined ? null : fromRecord(record);
}

function fromRecord(record: Stored): SessionRow {
  const limits = record.limits === null ? null : (JSON.parse(record.limits) as SessionLimits);
  const fork_point = record.fork_point === null ? null : (JSON.parse(record.fork_point) as ForkPoint);
  return { ...record, offline: record.offline === 1, limits, fork_point };
}
