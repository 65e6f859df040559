/** Turns and what they used. Each ends once. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { MessageId, SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { Turn, TurnError, TurnReason, Usage, UsageTotal } from "@aegis/contract/turn.ts";
import { mostUnseen } from "@aegis/contract/unseen.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";
import { type SpentQuery, type SpentUsage, spentOverTime } from "./usage.ts";

/** A turn as stored. */
export type TurnRow = Turn & {
  /** The harness has recorded the prompt: after a crash it must not be sent again. */
  accepted: boolean;
  /** Each time that its messages were handed over to a harness, also by the turns before it that were cut. */
  handed_over: readonly HandOver[];
};

/** A prompt that was about to be written to a harness. */
export type HandOver = {
  turn: TurnId;
  key: string;
  /** Identifies the prompt's text without holding it. Empty in state of a version that did not record it. */
  print: string;
  /** What the harness called the conversation. */
  conversation: string | null;
  /** The message, if it joined a running turn. Absent for the messages that the turn started with. */
  joined?: MessageId;
};

export type TurnEnd = {
  at: number;
  reason: TurnReason;
  error: TurnError | null;
  text: string;
  usage: Usage | null;
  /** The number of the event that recorded the end. */
  seq: number;
};

const table = new Table<TurnRow, { ended_seq: number }>(
  "turns",
  {
    id: "plain",
    session: "plain",
    started_at: "plain",
    ended_at: "plain",
    reason: "plain",
    error: "json text",
    text: "text",
    usage: "json name",
    accepted: "flag",
    handed_over: "json name",
  },
  { hidden: { ended_seq: "plain" } },
);

const sums = ["input", "cache_read", "cache_write", "output", "cost"] as const;

/** The database adds each turn to the sums of its session when the turn ends. Turns that run are few. */
const total = (ended: string, running: string) => `
  SELECT sum(turns) AS turns, ${sums.map((key) => `sum(${key}) AS ${key}`).join(", ")}, sum(cost_unknown) AS cost_unknown
  FROM (SELECT turns, ${sums.join(", ")}, cost_unknown FROM session_usage ${ended}
    UNION ALL SELECT 1, ${sums.map((key) => `CAST(usage ->> '$.${key}' AS DOUBLE PRECISION)`).join(", ")},
      CASE WHEN usage ->> '$.cost' IS NULL THEN 1 ELSE 0 END
    FROM turns WHERE ended_at IS NULL AND usage IS NOT NULL ${running}) AS spent`;
const isOpen = "session IN (SELECT id FROM sessions WHERE closed_at IS NULL)";
const totalOfOpen = total(`WHERE ${isOpen}`, `AND ${isOpen}`);
const totalOfOne = total("WHERE session = ?1", "AND session = ?1");

export class TurnReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  get(id: TurnId): Promise<TurnRow | null> {
    return table.one(this.sql, "WHERE id = ?", id);
  }

  /** Newest first; with `until` those whose end came no later. */
  list(session: SessionId, limit: number, until?: number): Promise<TurnRow[]> {
    if (until === undefined)
      return table.all(this.sql, "WHERE session = ? ORDER BY position DESC LIMIT ?", session, limit);
    const ended = "WHERE session = ? AND ended_seq <= ? ORDER BY position DESC LIMIT ?";
    return table.all(this.sql, ended, session, until, limit);
  }

  /** The newest turn that had started at that time. */
  lastStarted(session: SessionId, at: number): Promise<TurnRow | null> {
    return table.one(this.sql, "WHERE session = ? AND started_at <= ? ORDER BY position DESC LIMIT 1", session, at);
  }

  /** Turns without an end; with `node` those of sessions of that node. */
  open(node?: string | null): Promise<TurnRow[]> {
    if (node === undefined) return table.all(this.sql, "WHERE ended_at IS NULL ORDER BY position");
    const ofNode = "session IN (SELECT id FROM sessions WHERE node IS NOT DISTINCT FROM ?)";
    return table.all(this.sql, `WHERE ended_at IS NULL AND ${ofNode} ORDER BY position`, node);
  }

  /** Ended turns of a session whose end came after `seq`. */
  async countEndedAfter(session: SessionId, seq: number): Promise<number> {
    const text = `SELECT count(*) AS count FROM
      (SELECT 1 FROM turns WHERE session = ? AND ended_seq > ? LIMIT ${mostUnseen}) AS unseen`;
    return (await this.sql.get<{ count: number }>(text, session, seq))?.count ?? 0;
  }

  /** The recorded usage of one session's turns, or of the turns of every open session; null when there is none. */
  async usage(session?: SessionId): Promise<UsageTotal | null> {
    const found =
      session === undefined
        ? await this.sql.get<UsageTotal>(totalOfOpen)
        : await this.sql.get<UsageTotal>(totalOfOne, session);
    if (found === undefined || !found.turns) return null;
    // A database server returns large sums as text.
    return { ...found, turns: Number(found.turns), cost_unknown: Number(found.cost_unknown) };
  }

  /** Sums of turns by the time of their start. */
  spent(query: SpentQuery): Promise<SpentUsage> {
    return spentOverTime(this.sql, query);
  }
}

export class TurnWrites extends TurnReads<RowWriter> {
  async insert(turn: TurnRow): Promise<void> {
    await this.sql.insert(table, turn, {
      taken: `the turn ${turn.id} was started before`,
      reference: `no session ${turn.session} for the turn ${turn.id}`,
    });
  }

  async accept(id: TurnId): Promise<void> {
    if (!(await this.sql.update(table, { accepted: true }, ["id = ?", id])))
      throw new AegisError("not_found", `no turn ${id}`);
  }

  /** Replaces what is stored. Throws `conflict` when the turn has ended. */
  handOver(id: TurnId, handed: readonly HandOver[]): Promise<void> {
    return this.#changeRunning(id, { handed_over: handed });
  }

  /** What it has used so far: it counts towards budgets, and is kept when the turn is cut. */
  spend(id: TurnId, usage: Usage): Promise<void> {
    return this.#changeRunning(id, { usage });
  }

  /** What the agent has said so far, kept when the turn is cut. Changes nothing once the turn has ended. */
  async say(id: TurnId, text: string): Promise<void> {
    await this.sql.update(table, { text }, ["id = ? AND ended_at IS NULL", id]);
  }

  /** Throws `conflict` when the turn has ended before. */
  async end(id: TurnId, { at, reason, error, text, usage, seq }: TurnEnd): Promise<void> {
    const change = { ended_at: at, reason, error, text, usage, ended_seq: seq };
    if (await this.sql.update(table, change, ["id = ? AND ended_at IS NULL", id])) return;
    const before = await this.get(id);
    if (before === null) throw new AegisError("not_found", `no turn ${id}`);
    throw new AegisError("conflict", `the turn ${id} has ended before (${before.reason})`);
  }

  async #changeRunning(id: TurnId, change: Partial<TurnRow>): Promise<void> {
    if (!(await this.sql.update(table, change, ["id = ? AND ended_at IS NULL", id])))
      throw new AegisError("conflict", `the turn ${id} is not running`);
  }
}
