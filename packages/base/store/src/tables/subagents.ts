/** Subagents: their parents, their outcome, and who was notified. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { MessageId, SessionId } from "@aegis/contract/ids.ts";
import type { PooledWork, Subagent, SubagentStatus, Tree } from "@aegis/contract/subagent.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { matching, Table, TableReads } from "../sql/table.ts";
import type { SessionRow } from "./sessions.ts";

/** A subagent as stored: the fields that clients see, and its causal chain. */
export type SubagentRow = Subagent & { chain: MessageId | null; hops: number };

export type SubagentEnd = Pick<Subagent, "result" | "error"> & {
  status: Exclude<SubagentStatus, "running">;
  at: number;
};

/**
 * The number of sessions below one root, however they were started. A subagent is live while it runs, a pooled agent
 * while a session of the tree holds it, and any other session until it is closed. `spawned` are all that ever were.
 * `recent` counts work: what is live or began after a time, and unfinished tasks. All attempts of a task are one.
 */
export type TreeTotals = { live: number; spawned: number; recent: number };

/** The usage of the sessions below one root, and of pooled agents that worked for them or the root. */
export type TreeSpending = Pick<Tree, "output_tokens" | "cost" | "untold">;

/** A repeated request is compared with the task. */
const table = new Table<SubagentRow>("subagents", {
  run_id: "name",
  session: "plain",
  parent: "plain",
  root: "plain",
  depth: "plain",
  agent: "name",
  label: "name",
  task: "whole",
  model: "name",
  cleanup: "plain",
  status: "plain",
  result: "text",
  error: "text",
  timeout: "plain",
  deadline: "plain",
  created_at: "plain",
  ended_at: "plain",
  archived_at: "plain",
  announced_to: "plain",
  announcement: "plain",
  chain: "plain",
  hops: "plain",
});

const below = `WITH RECURSIVE below (session) AS (
    SELECT session FROM subagents WHERE parent = ?
    UNION ALL SELECT subagents.session FROM subagents JOIN below ON subagents.parent = below.session
  ) SELECT ${table.columns} FROM below CROSS JOIN subagents
  WHERE below.session = subagents.session ORDER BY depth, position`;
const withAnnouncement = "FROM messages CROSS JOIN subagents WHERE messages.id = subagents.announcement";
/** A subagent ends before its session is closed; a pooled agent belongs to its holder. */
const isLive = `sessions.closed_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM pool WHERE pool.session = sessions.id)
  AND NOT EXISTS (SELECT 1 FROM subagents WHERE subagents.session = sessions.id AND subagents.status <> 'running')`;
const members = `WITH RECURSIVE members (id) AS (
    SELECT ?1
    UNION SELECT sessions.id FROM sessions WHERE sessions.root = ?1
    UNION SELECT pool.session FROM pool JOIN members ON pool.holder = members.id
  )`;
const totals = `${members}
  SELECT (SELECT count(*) FROM sessions WHERE root = ?1) AS spawned,
    (SELECT count(*) FROM sessions WHERE root = ?1 AND ${isLive})
      + (SELECT count(*) FROM pool WHERE holder IN (SELECT id FROM members)) AS live,
    (SELECT count(*) FROM (
      SELECT coalesce((SELECT task FROM attempts WHERE worker = sessions.id), id) FROM sessions
        WHERE root = ?1 AND (created_at > ?2 OR ${isLive})
      UNION SELECT id FROM tasks
        WHERE starter IS NOT NULL AND starter ->> '$.root' = ?1 AND status IN ('pending', 'dispatched')
    ) AS work) AS recent`;
const children = `SELECT (SELECT count(*) FROM sessions WHERE started_by = ?1 AND ${isLive})
  + (SELECT count(*) FROM pool WHERE holder = ?1) AS count`;
/** A pooled agent works for several trees in turn, so its turns are attributed by requester. `CROSS JOIN`: in this order. */
const spending = `SELECT coalesce(sum(CAST(usage ->> '$.output' AS DOUBLE PRECISION)), 0) AS output_tokens,
    coalesce(sum(CAST(usage ->> '$.cost' AS DOUBLE PRECISION)), 0) AS cost,
    count(CASE WHEN usage ->> '$.cost' IS NULL AND (usage IS NOT NULL OR reason = 'completed' AND harness <> ?2) THEN 1 END)
      AS untold
  FROM (
    SELECT turns.usage, turns.reason, turns.session FROM sessions CROSS JOIN turns
      WHERE turns.session = sessions.id AND sessions.root = ?1 AND NOT EXISTS (SELECT 1 FROM pool WHERE pool.session = sessions.id)
    UNION ALL
    SELECT turns.usage, turns.reason, turns.session FROM pool CROSS JOIN turns WHERE turns.session = pool.session AND EXISTS (
      SELECT 1 FROM messages WHERE messages.turn = turns.id AND (messages.sender ->> '$.session' = ?1
        OR messages.sender ->> '$.session' IN (SELECT id FROM sessions WHERE root = ?1)))
  ) AS used CROSS JOIN sessions WHERE sessions.id = used.session`;
const roots = `SELECT id, handle, closed_at FROM sessions WHERE root IS NULL AND id NOT IN (SELECT session FROM pool)
  AND (id IN (SELECT root FROM sessions WHERE root IS NOT NULL)
    OR id IN (SELECT messages.sender ->> '$.session' FROM pool CROSS JOIN messages
      WHERE messages.session = pool.session AND messages.sender ->> '$.session' IS NOT NULL))`;
const openRoots = `${roots} AND closed_at IS NULL ORDER BY position`;
const closedRoots = `${roots} AND closed_at IS NOT NULL ORDER BY closed_at DESC, position DESC LIMIT ?`;
const pooled = `SELECT given.session, sessions.handle, sessions.agent, given.holder, given.tasks, given.first_at, given.last_at,
    CASE WHEN sessions.closed_at IS NOT NULL THEN 'closed' WHEN pool.holder = given.holder THEN 'busy' ELSE 'idle' END AS state
  FROM (SELECT messages.session, messages.sender ->> '$.session' AS holder, count(*) AS tasks,
      min(messages.admitted_at) AS first_at, max(messages.admitted_at) AS last_at, min(messages.position) AS place
    FROM pool CROSS JOIN messages WHERE messages.session = pool.session AND (messages.sender ->> '$.session' = ?1
      OR messages.sender ->> '$.session' IN (SELECT id FROM sessions WHERE root = ?1))
    GROUP BY 1, 2) AS given
  JOIN sessions ON sessions.id = given.session JOIN pool ON pool.session = given.session
  ORDER BY given.place`;
type Root = Pick<SessionRow, "id" | "handle" | "closed_at">;
const labels =
  "SELECT label FROM subagents WHERE parent = ? AND archived_at IS NULL AND substr(label, 1, length(?)) = ?";

export class SubagentReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  get(runId: string): Promise<SubagentRow | null> {
    return table.one(this.sql, "WHERE run_id = ?", runId);
  }

  ofSession(session: SessionId): Promise<SubagentRow | null> {
    return table.one(this.sql, "WHERE session = ?", session);
  }

  /** The subagent whose end this message announces. */
  announcedBy(message: MessageId): Promise<SubagentRow | null> {
    return table.one(this.sql, "WHERE announcement = ?", message);
  }

  /** Oldest first; archived subagents only on request. */
  async list(filter: {
    status?: SubagentStatus | undefined;
    archived: boolean;
    parent?: SessionId | undefined;
    limit: number;
  }): Promise<SubagentRow[]> {
    const { where, values } = matching({ status: filter.status, parent: filter.parent });
    const shown = filter.archived ? where : `${where === "" ? "WHERE" : `${where} AND`} archived_at IS NULL`;
    return (await table.all(this.sql, `${shown} ORDER BY position DESC LIMIT ?`, ...values, filter.limit)).reverse();
  }

  /** All subagents below a session, nearest first, including archived ones. */
  async below(session: SessionId): Promise<SubagentRow[]> {
    return (await this.sql.all<SubagentRow>(below, session)).map(table.row);
  }

  /** Running subagents, nearest to their root first. */
  running(node?: string | null): Promise<SubagentRow[]> {
    const running = "WHERE status = 'running'";
    const order = "ORDER BY depth, position";
    if (node === undefined) return table.all(this.sql, `${running} ${order}`);
    const ofNode = "session IN (SELECT id FROM sessions WHERE node IS NOT DISTINCT FROM ?)";
    return table.all(this.sql, `${running} AND ${ofNode} ${order}`, node);
  }

  async countRunning(parent: SessionId): Promise<number> {
    const text = "SELECT count(*) AS count FROM subagents WHERE parent = ? AND status = 'running'";
    return (await this.sql.get<{ count: number }>(text, parent))?.count ?? 0;
  }

  /** The number of live sessions that the session started, by any means, and of pooled agents that it holds. */
  async children(starter: SessionId): Promise<number> {
    return (await this.sql.get<{ count: number }>(children, starter))?.count ?? 0;
  }

  async totals(root: SessionId, since: number): Promise<TreeTotals> {
    return (await this.sql.get<TreeTotals>(totals, root, since)) ?? { live: 0, spawned: 0, recent: 0 };
  }

  /** `free` names a harness whose turns cost nothing although it reports no cost. */
  async spending(root: SessionId, free: string): Promise<TreeSpending> {
    return (await this.sql.get<TreeSpending>(spending, root, free)) ?? { output_tokens: 0, cost: 0, untold: 0 };
  }

  /**
   * Root sessions that ever started a session or used a pooled agent: all open ones, oldest first, then up to `closed`
   * closed ones, most recently closed first.
   */
  async roots(closed: number): Promise<Root[]> {
    return [...(await this.sql.all<Root>(openRoots)), ...(await this.sql.all<Root>(closedRoots, closed))];
  }

  /** The pooled agents that worked for the sessions of a tree, one entry per session, ordered by first task. */
  async pooled(root: SessionId): Promise<PooledWork[]> {
    return this.sql.all<PooledWork>(pooled, root);
  }

  /** Labels with this prefix among the children that are not archived. */
  async labels(parent: SessionId, prefix: string): Promise<string[]> {
    return (await this.sql.all<{ label: string }>(labels, parent, prefix, prefix)).map((row) => row.label);
  }

  /** Ended subagents whose announcement still waits for the session's next turn. */
  undelivered(session: SessionId): Promise<SubagentRow[]> {
    const pending = "AND messages.session = ? AND messages.status = 'pending' ORDER BY messages.position";
    return table.select(this.sql, `${withAnnouncement} ${pending}`, session);
  }

  /** Ended subagents whose announcement was refused or lost. */
  unheard(): Promise<SubagentRow[]> {
    const gone = "AND messages.status IN ('refused', 'lost') ORDER BY subagents.position";
    return table.select(this.sql, `${withAnnouncement} ${gone}`);
  }

  /** Subagents that ended before that time and are not archived. */
  expired(before: number): Promise<SubagentRow[]> {
    return table.all(this.sql, "WHERE archived_at IS NULL AND ended_at <= ? ORDER BY ended_at", before);
  }
}

export class SubagentWrites extends SubagentReads<RowWriter> {
  async insert(row: SubagentRow): Promise<void> {
    await this.sql.insert(table, row, {
      taken: `the subagent ${row.run_id} was spawned before`,
      reference: `no session for the subagent ${row.run_id}`,
    });
  }

  /** Throws `conflict` if it is not running. */
  async end(runId: string, { status, result, error, at }: SubagentEnd): Promise<void> {
    const change = { status, result, error, ended_at: at };
    if (!(await this.sql.update(table, change, ["run_id = ? AND status = 'running'", runId])))
      throw new AegisError("conflict", `the subagent ${runId} is not running`);
  }

  /** Records who is notified of the end. */
  announce(runId: string, to: Pick<Subagent, "announced_to" | "announcement">): Promise<void> {
    return this.#change(runId, { announced_to: to.announced_to, announcement: to.announcement });
  }

  archive(runId: string, at: number): Promise<void> {
    return this.#change(runId, { archived_at: at });
  }

  async #change(runId: string, change: Partial<SubagentRow>): Promise<void> {
    if (!(await this.sql.update(table, change, ["run_id = ?", runId])))
      throw new AegisError("not_found", `no subagent ${runId}`);
  }
}
