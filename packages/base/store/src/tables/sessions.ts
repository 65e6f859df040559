/** Sessions. At most one live session has a given handle. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Session, SessionLimits } from "@aegis/contract/session.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";

/** A session as stored: the fields that clients see, and those that only the runtime uses. */
export type SessionRow = Session & {
  /** The harness's id of the conversation, used to resume it. */
  resume: string | null;
  /** Null if only its agent limits it. */
  limits: SessionLimits | null;
  /** The session that started it, by any means; null if a person or a schedule did. */
  started_by: SessionId | null;
  /** The root session of its tree; null if it is the root itself. */
  root: SessionId | null;
  /** The point at which it was forked. */
  fork_point: ForkPoint | null;
};

/** What commands without a daemon read of a session. */
export type OpenSession = Pick<Session, "handle" | "agent" | "harness">;

export type ForkPoint = {
  /** The fork shares the history up to this event. */
  seq: number;
  /** The harness's id of the original conversation. */
  resume: string | null;
};

const table = new Table<SessionRow>("sessions", {
  id: "plain",
  handle: "name",
  agent: "name",
  harness: "name",
  offline: "flag",
  title: "text",
  title_source: "plain",
  state: "plain",
  error: "text",
  parent: "plain",
  depth: "plain",
  ask_policy: "plain",
  created_at: "plain",
  closed_at: "plain",
  resume: "name",
  limits: "json name",
  started_by: "plain",
  root: "plain",
  forked_from: "plain",
  fork_point: "json name",
  node: "name?",
  nodes: "json name?",
});

export class SessionReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  get(id: SessionId): Promise<SessionRow | null> {
    return table.one(this.sql, "WHERE id = ?", id);
  }

  /** The live session with this handle. */
  byHandle(handle: string): Promise<SessionRow | null> {
    return table.one(this.sql, "WHERE handle = ? AND closed_at IS NULL", handle);
  }

  /** Newest first. `closed` selects closed or live sessions; without it, all are returned. */
  list(filter: { closed?: boolean } = {}): Promise<SessionRow[]> {
    const which = filter.closed === undefined ? "" : `WHERE closed_at IS ${filter.closed ? "NOT " : ""}NULL`;
    return table.all(this.sql, `${which} ORDER BY position DESC`);
  }

  async countByState(): Promise<Record<Session["state"], number>> {
    const counts = { ready: 0, working: 0, error: 0, closed: 0 };
    const rows = await this.sql.all<{ state: Session["state"]; count: number }>(
      `SELECT state, count(*) AS count FROM sessions WHERE closed_at IS NULL GROUP BY state
        UNION ALL SELECT 'closed', count(*) FROM sessions WHERE closed_at IS NOT NULL`,
    );
    for (const { state, count } of rows) counts[state] = count;
    return counts;
  }
}

export class SessionWrites extends SessionReads<RowWriter> {
  /** Throws `conflict` if a live session has that handle. */
  async insert(row: SessionRow): Promise<void> {
    const node = row.node ?? this.sql.node;
    const taken = async () =>
      (await this.get(row.id)) === null
        ? `the handle "${row.handle}" belongs to a live session`
        : `the session ${row.id} exists`;
    const reference = `no session ${row.parent} to be the parent of ${row.id}`;
    await this.sql.insert(table, node === null ? row : { ...row, node }, { taken, reference });
  }

  async update(id: SessionId, change: Partial<Omit<SessionRow, "id" | "created_at">>): Promise<void> {
    if (change.handle !== undefined) await this.#claimHandle(id, change.handle);
    const reference = change.parent ? `no session ${change.parent} to be the parent of ${id}` : undefined;
    if (!(await this.sql.update(table, change, ["id = ?", id], reference)))
      throw new AegisError("not_found", `no session ${id}`);
  }

  async #claimHandle(id: SessionId, handle: string): Promise<void> {
    const holder = await this.byHandle(handle);
    if (holder !== null && holder.id !== id)
      throw new AegisError("conflict", `the handle "${handle}" belongs to another live session`);
  }
}
