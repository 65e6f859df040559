/** Subagents: who was started by whom, how it ended and who was told. */
import { AegisError } from "../../contract/errors.ts";
import type { SessionId } from "../../contract/ids.ts";
import type { Subagent, SubagentStatus } from "../../contract/subagent.ts";
import type { SessionRow } from "../session-tables.ts";
import type { SubagentEnd, SubagentRow, SubagentTable, TreeTotals } from "../store.ts";
import type { TreeSpending } from "../subagent-tables.ts";
import type { Sql, Value } from "./connection.ts";
import { onConstraint } from "./errors.ts";

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
const insert = `INSERT INTO subagents (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
const end =
  "UPDATE subagents SET status = ?, result = ?, error = ?, ended_at = ? WHERE run_id = ? AND status = 'running'";
const below = `WITH RECURSIVE below (session) AS (
    SELECT session FROM subagents WHERE parent = ?
    UNION ALL SELECT subagents.session FROM subagents JOIN below ON subagents.parent = below.session
  ) ${select} JOIN below ON below.session = subagents.session ORDER BY depth, position`;
const withAnnouncement = `${select} JOIN messages ON messages.id = subagents.announcement`;
const totals = `SELECT count(*) AS spawned,
    coalesce(sum(status = 'running'), 0)
      + (SELECT count(*) FROM pool WHERE holder = ?1 OR holder IN (SELECT session FROM subagents WHERE root = ?1)) AS live
  FROM subagents WHERE root = ?1`;
/** A pooled agent works for one tree after the other: its turns count by who asked for them. */
const spending = `SELECT coalesce(sum(usage ->> '$.output'), 0) AS output_tokens, coalesce(sum(usage ->> '$.cost'), 0) AS cost,
    coalesce(sum(usage ->> '$.cost' IS NULL AND (usage IS NOT NULL OR reason = 'completed' AND harness <> ?2)), 0) AS untold
  FROM (
    SELECT turns.usage, turns.reason, turns.session FROM subagents JOIN turns ON turns.session = subagents.session
      WHERE subagents.root = ?1
    UNION ALL
    SELECT turns.usage, turns.reason, turns.session FROM pool JOIN turns ON turns.session = pool.session WHERE EXISTS (
      SELECT 1 FROM messages WHERE messages.turn = turns.id AND (messages.sender ->> '$.session' = ?1
        OR messages.sender ->> '$.session' IN (SELECT session FROM subagents WHERE root = ?1)))
  ) AS used JOIN sessions ON sessions.id = used.session`;
const roots = `SELECT id, handle FROM sessions WHERE closed_at IS NULL
  AND id NOT IN (SELECT session FROM subagents) AND id NOT IN (SELECT session FROM pool)
  AND (id IN (SELECT root FROM subagents)
    OR id IN (SELECT messages.sender ->> '$.session' FROM pool JOIN messages ON messages.session = pool.session
      WHERE messages.sender ->> '$.session' IS NOT NULL))
  ORDER BY position`;
const labels = "SELECT label FROM subagents WHERE parent = ? AND archived_at IS NULL AND substr(label, 1, ?) = ?";

export class SqliteSubagents implements SubagentTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(runId: string): Promise<SubagentRow | null> {
    return this.#sql.get<SubagentRow>(`${select} WHERE run_id = ?`, runId) ?? null;
  }

  async ofSession(session: SessionId): Promise<SubagentRow | null> {
    return this.#sql.get<SubagentRow>(`${select} WHERE session = ?`, session) ?? null;
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
    return this.#sql.all<SubagentRow>(newest, ...values, filter.limit).reverse();
  }

  async below(session: SessionId): Promise<SubagentRow[]> {
    return this.#sql.all<SubagentRow>(below, session);
  }

  async running(): Promise<SubagentRow[]> {
    return this.#sql.all<SubagentRow>(`${select} WHERE status = 'running' ORDER BY depth, position`);
  }

  async countRunning(parent: SessionId): Promise<number> {
    const text = "SELECT count(*) AS count FROM subagents WHERE parent = ? AND status = 'running'";
    return this.#sql.get<{ count: number }>(text, parent)?.count ?? 0;
  }

  async totals(root: SessionId): Promise<TreeTotals> {
    return this.#sql.get<TreeTotals>(totals, root) ?? { live: 0, spawned: 0 };
  }

  async spending(root: SessionId, free: string): Promise<TreeSpending> {
    return this.#sql.get<TreeSpending>(spending, root, free) ?? { output_tokens: 0, cost: 0, untold: 0 };
  }

  async roots(): Promise<Pick<SessionRow, "id" | "handle">[]> {
    return this.#sql.all<Pick<SessionRow, "id" | "handle">>(roots);
  }

  async labels(parent: SessionId, prefix: string): Promise<string[]> {
    return this.#sql.all<{ label: string }>(labels, parent, prefix.length, prefix).map((row) => row.label);
  }

  async undelivered(session: SessionId): Promise<SubagentRow[]> {
    const text = `${withAnnouncement} WHERE messages.session = ? AND messages.status = 'pending' ORDER BY messages.position`;
    return this.#sql.all<SubagentRow>(text, session);
  }

  async unheard(): Promise<SubagentRow[]> {
    const text = `${withAnnouncement} WHERE messages.status IN ('refused', 'lost') ORDER BY subagents.position`;
    return this.#sql.all<SubagentRow>(text);
  }

  async expired(before: number): Promise<SubagentRow[]> {
    const text = `${select} WHERE archived_at IS NULL AND ended_at <= ? ORDER BY ended_at`;
    return this.#sql.all<SubagentRow>(text, before);
  }

  async insert(row: SubagentRow): Promise<void> {
    try {
      this.#sql.run(insert, ...columns.map((column) => row[column]));
    } catch (error) {
      throw onConstraint(error, {
        unique: `the subagent ${row.run_id} was spawned before`,
        reference: `no session for the subagent ${row.run_id}`,
      });
    }
  }

  async end(runId: string, { status, result, error, at }: SubagentEnd): Promise<void> {
    const { changes } = this.#sql.run(end, status, result, error, at, runId);
    if (changes === 0) throw new AegisError("conflict", `the subagent ${runId} is not running`);
  }

  async announce(
    runId: string,
    { announced_to, announcement }: Pick<Subagent, "announced_to" | "announcement">,
  ): Promise<void> {
    this.#change(runId, "announced_to = ?, announcement = ?", announced_to, announcement);
  }

  async archive(runId: string, at: number): Promise<void> {
    this.#change(runId, "archived_at = ?", at);
  }

  #change(runId: string, what: string, ...values: Value[]): void {
    const { changes } = this.#sql.run(`UPDATE subagents SET ${what} WHERE run_id = ?`, ...values, runId);
    if (changes === 0) throw new AegisError("not_found", `no subagent ${runId}`);
  }
}
