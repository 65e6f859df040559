/** Subagents: their parents, their outcome, and who was notified. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { MessageId, SessionId } from "@aegis/contract/ids.ts";
import type { PooledWork, Subagent, SubagentStatus } from "@aegis/contract/subagent.ts";
import type { SessionRow } from "../session-tables.ts";
import type { SubagentEnd, SubagentRow, SubagentTable, TreeTotals } from "../store.ts";
import type { TreeSpending } from "../subagent-tables.ts";
import { insertInto, insertRow, type Sql, type Value } from "./sql.ts";

const columns = [
  "run_id",
  "session",
  "parent",
  "root",
  "depth",
  "agent",
  "label",
  "task",
  "model",
  "cleanup",
  "status",
  "result",
  "error",
  "timeout",
  "deadline",
  "created_at",
  "ended_at",
  "archived_at",
  "announced_to",
  "announcement",
  "chain",
  "hops",
] as const satisfies (keyof SubagentRow)[];
const select = `SELECT ${columns.map((column) => `subagents.${column}`).join(", ")} FROM subagents`;
const insert = insertInto("subagents", columns);
const end =
  "UPDATE subagents SET status = ?, result = ?, error = ?, ended_at = ? WHERE run_id = ? AND status = 'running'";
const below = `WITH RECURSIVE below (session) AS (
    SELECT session FROM subagents WHERE parent = ?
    UNION ALL SELECT subagents.session FROM subagents JOIN below ON subagents.parent = below.session
  ) ${select.replace("FROM subagents", "FROM below CROSS JOIN subagents")}
  WHERE below.session = subagents.session ORDER BY depth, position`;
const withAnnouncement = `${select.replace("FROM subagents", "FROM messages CROSS JOIN subagents")}
  WHERE messages.id = subagents.announcement`;
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
    waiting
  FROM (SELECT
    (SELECT count(*) FROM tasks WHERE starter IS NOT NULL AND starter ->> '$.root' = ?1 AND status = 'pending') AS waiting) AS of_tasks`;
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

export class SqlSubagents implements SubagentTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(runId: string): Promise<SubagentRow | null> {
    return (await this.#sql.get<SubagentRow>(`${select} WHERE run_id = ?`, runId)) ?? null;
  }

  async ofSession(session: SessionId): Promise<SubagentRow | null> {
    return (await this.#sql.get<SubagentRow>(`${select} WHERE session = ?`, session)) ?? null;
  }

  async announcedBy(message: MessageId): Promise<SubagentRow | null> {
    return (await this.#sql.get<SubagentRow>(`${select} WHERE announcement = ?`, message)) ?? null;
  }

  async list(filter: {
    status?: SubagentStatus | undefined;
    archived: boolean;
    parent?: SessionId | undefined;
    limit: number;
  }): Promise<SubagentRow[]> {
    const conditions = filter.archived ? [] : ["archived_at IS NULL"];
    const values: Value[] = [];
    for (const [column, value] of [
      ["status", filter.status],
      ["parent", filter.parent],
    ] as const) {
      if (value === undefined) continue;
      conditions.push(`${column} = ?`);
      values.push(value);
    }
    const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
    const newest = `${select} ${where} ORDER BY position DESC LIMIT ?`;
    return (await this.#sql.all<SubagentRow>(newest, ...values, filter.limit)).reverse();
  }

  async below(session: SessionId): Promise<SubagentRow[]> {
    return await this.#sql.all<SubagentRow>(below, session);
  }

  async running(node?: string | null): Promise<SubagentRow[]> {
    const running = `${select} WHERE status = 'running'`;
    const order = "ORDER BY depth, position";
    if (node === undefined) return await this.#sql.all<SubagentRow>(`${running} ${order}`);
    const ofNode = "session IN (SELECT id FROM sessions WHERE node IS NOT DISTINCT FROM ?)";
    return await this.#sql.all<SubagentRow>(`${running} AND ${ofNode} ${order}`, node);
  }

  async countRunning(parent: SessionId): Promise<number> {
    const text = "SELECT count(*) AS count FROM subagents WHERE parent = ? AND status = 'running'";
    return (await this.#sql.get<{ count: number }>(text, parent))?.count ?? 0;
  }

  async children(starter: SessionId): Promise<number> {
    return (await this.#sql.get<{ count: number }>(children, starter))?.count ?? 0;
  }

  async totals(root: SessionId): Promise<TreeTotals> {
    return (await this.#sql.get<TreeTotals>(totals, root)) ?? { live: 0, spawned: 0, waiting: 0 };
  }

  async spending(root: SessionId, free: string): Promise<TreeSpending> {
    return (await this.#sql.get<TreeSpending>(spending, root, free)) ?? { output_tokens: 0, cost: 0, untold: 0 };
  }

  async roots(closed: number): Promise<Root[]> {
    return [...(await this.#sql.all<Root>(openRoots)), ...(await this.#sql.all<Root>(closedRoots, closed))];
  }

  async pooled(root: SessionId): Promise<PooledWork[]> {
    return await this.#sql.all<PooledWork>(pooled, root);
  }

  async labels(parent: SessionId, prefix: string): Promise<string[]> {
    return (await this.#sql.all<{ label: string }>(labels, parent, prefix, prefix)).map((row) => row.label);
  }

  async undelivered(session: SessionId): Promise<SubagentRow[]> {
    const text = `${withAnnouncement} AND messages.session = ? AND messages.status = 'pending' ORDER BY messages.position`;
    return await this.#sql.all<SubagentRow>(text, session);
  }

  async unheard(): Promise<SubagentRow[]> {
    const text = `${withAnnouncement} AND messages.status IN ('refused', 'lost') ORDER BY subagents.position`;
    return await this.#sql.all<SubagentRow>(text);
  }

  async expired(before: number): Promise<SubagentRow[]> {
    const text = `${select} WHERE archived_at IS NULL AND ended_at <= ? ORDER BY ended_at`;
    return await this.#sql.all<SubagentRow>(text, before);
  }

  async insert(row: SubagentRow): Promise<void> {
    await insertRow(
      this.#sql,
      insert,
      columns.map((column) => row[column]),
      {
        taken: `the subagent ${row.run_id} was spawned before`,
        reference: `no session for the subagent ${row.run_id}`,
      },
    );
  }

  async end(runId: string, { status, result, error, at }: SubagentEnd): Promise<void> {
    const changes = await this.#sql.run(end, status, result, error, at, runId);
    if (changes === 0) throw new AegisError("conflict", `the subagent ${runId} is not running`);
  }

  async announce(
    runId: string,
    { announced_to, announcement }: Pick<Subagent, "announced_to" | "announcement">,
  ): Promise<void> {
    await this.#change(runId, "announced_to = ?, announcement = ?", announced_to, announcement);
  }

  async archive(runId: string, at: number): Promise<void> {
    await this.#change(runId, "archived_at = ?", at);
  }

  async #change(runId: string, what: string, ...values: Value[]): Promise<void> {
    const changes = await this.#sql.run(`UPDATE subagents SET ${what} WHERE run_id = ?`, ...values, runId);
    if (changes === 0) throw new AegisError("not_found", `no subagent ${runId}`);
  }
}
