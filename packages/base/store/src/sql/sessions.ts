/** Sessions. At most one live session has a given handle. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Session, SessionLimits } from "@aegis/contract/session.ts";
import type { ForkPoint, SessionRow, SessionTable } from "../store.ts";
import { insertInto, insertRow, onConstraint, type Sql, type Value } from "./sql.ts";

/** As stored: SQLite has no booleans; structured columns are JSON. */
type Stored = Omit<SessionRow, "offline" | "limits" | "fork_point" | "node" | "nodes"> & {
  node: string | null;
  nodes: string | null;
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
  "started_by",
  "root",
  "forked_from",
  "fork_point",
  "node",
  "nodes",
] as const satisfies (keyof SessionRow)[];
const select = `SELECT ${columns.join(", ")} FROM sessions`;
const insert = insertInto("sessions", columns);

export class SqlSessions implements SessionTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(id: SessionId): Promise<SessionRow | null> {
    return toRow(await this.#sql.get<Stored>(`${select} WHERE id = ?`, id));
  }

  async byHandle(handle: string): Promise<SessionRow | null> {
    return toRow(await this.#sql.get<Stored>(`${select} WHERE handle = ? AND closed_at IS NULL`, handle));
  }

  async list(filter: { closed?: boolean } = {}): Promise<SessionRow[]> {
    const which = filter.closed === undefined ? "" : `WHERE closed_at IS ${filter.closed ? "NOT " : ""}NULL`;
    return (await this.#sql.all<Stored>(`${select} ${which} ORDER BY position DESC`)).map(fromRecord);
  }

  async countByState(): Promise<Record<Session["state"], number>> {
    const counts = { ready: 0, working: 0, error: 0, closed: 0 };
    const rows = await this.#sql.all<{ state: Session["state"]; count: number }>(
      `SELECT state, count(*) AS count FROM sessions WHERE closed_at IS NULL GROUP BY state
        UNION ALL SELECT 'closed', count(*) FROM sessions WHERE closed_at IS NOT NULL`,
    );
    for (const { state, count } of rows) counts[state] = count;
    return counts;
  }

  async insert(row: SessionRow): Promise<void> {
    const values = columns.map((column) => toValue(column === "node" ? (row.node ?? this.#sql.node) : row[column]));
    const taken = async () =>
      (await this.get(row.id)) === null
        ? `the handle "${row.handle}" belongs to a live session`
        : `the session ${row.id} exists`;
    const reference = `no session ${row.parent} to be the parent of ${row.id}`;
    await insertRow(this.#sql, insert, values, { taken, reference });
  }

  async update(id: SessionId, change: Partial<Omit<SessionRow, "id" | "created_at">>): Promise<void> {
    const changed = columns.filter((column) => column in change && change[column as keyof typeof change] !== undefined);
    if (changed.length === 0) return;
    if (change.handle !== undefined) await this.#claimHandle(id, change.handle);
    const values = changed.map((column) => toValue(change[column as keyof typeof change]));
    const text = `UPDATE sessions SET ${changed.map((column) => `${column} = ?`).join(", ")} WHERE id = ?`;
    let rows: number;
    try {
      rows = await (change.parent ? this.#sql.attempt(text, ...values, id) : this.#sql.run(text, ...values, id));
    } catch (error) {
      throw onConstraint(error, `no session ${change.parent} to be the parent of ${id}`);
    }
    if (rows === 0) throw new AegisError("not_found", `no session ${id}`);
  }

  async #claimHandle(id: SessionId, handle: string): Promise<void> {
    const holder = await this.byHandle(handle);
    if (holder !== null && holder.id !== id)
      throw new AegisError("conflict", `the handle "${handle}" belongs to another live session`);
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

/** Named one by one: a spread of what SQLite returns takes twice as long, and most requests read a session. */
function fromRecord(record: Stored): SessionRow {
  const { node, nodes } = record;
  const row: SessionRow = {
    id: record.id,
    handle: record.handle,
    agent: record.agent,
    harness: record.harness,
    offline: record.offline === 1,
    title: record.title,
    title_source: record.title_source,
    state: record.state,
    error: record.error,
    parent: record.parent,
    depth: record.depth,
    ask_policy: record.ask_policy,
    created_at: record.created_at,
    closed_at: record.closed_at,
    resume: record.resume,
    limits: record.limits === null ? null : (JSON.parse(record.limits) as SessionLimits),
    started_by: record.started_by,
    root: record.root,
    forked_from: record.forked_from,
    fork_point: record.fork_point === null ? null : (JSON.parse(record.fork_point) as ForkPoint),
  };
  if (node !== null) row.node = node;
  if (nodes !== null) row.nodes = JSON.parse(nodes) as string[];
  return row;
}
