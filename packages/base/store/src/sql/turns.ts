/** Turns. Each ends once. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { TurnError, Usage, UsageTotal } from "@aegis/contract/turn.ts";
import { mostUnseen } from "@aegis/contract/unseen.ts";
import type { HandOver, Spent, SpentQuery, TurnEnd, TurnRow, TurnTable } from "../store.ts";
import { insertInto, insertRow, type Sql } from "./sql.ts";
import { spentOverTime } from "./usage.ts";

/** As stored: error, usage and deliveries are JSON; SQLite has no booleans. */
type Stored = Omit<TurnRow, "accepted" | "error" | "usage" | "handed_over"> & {
  accepted: number;
  handed_over: string;
  error: string | null;
  usage: string | null;
};

const columns = "id, session, started_at, ended_at, reason, error, text, usage, accepted, handed_over";
const select = `SELECT ${columns} FROM turns`;
const insert = insertInto("turns", columns.split(", "));
const end = `UPDATE turns SET ended_at = ?, reason = ?, error = ?, text = ?, usage = ?, ended_seq = ?
  WHERE id = ? AND ended_at IS NULL`;

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

export class SqlTurns implements TurnTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(id: TurnId): Promise<TurnRow | null> {
    return this.#get(id);
  }

  async list(session: SessionId, limit: number, until?: number): Promise<TurnRow[]> {
    if (until !== undefined) {
      const ended = `${select} WHERE session = ? AND ended_seq <= ? ORDER BY position DESC LIMIT ?`;
      return (await this.#sql.all<Stored>(ended, session, until, limit)).map(fromStored);
    }
    const text = `${select} WHERE session = ? ORDER BY position DESC LIMIT ?`;
    return (await this.#sql.all<Stored>(text, session, limit)).map(fromStored);
  }

  async lastStarted(session: SessionId, at: number): Promise<TurnRow | null> {
    const text = `${select} WHERE session = ? AND started_at <= ? ORDER BY position DESC LIMIT 1`;
    const stored = await this.#sql.get<Stored>(text, session, at);
    return stored === undefined ? null : fromStored(stored);
  }

  async open(node?: string | null): Promise<TurnRow[]> {
    const open = `${select} WHERE ended_at IS NULL`;
    if (node === undefined) return (await this.#sql.all<Stored>(`${open} ORDER BY position`)).map(fromStored);
    const ofNode = `${open} AND session IN (SELECT id FROM sessions WHERE node IS NOT DISTINCT FROM ?) ORDER BY position`;
    return (await this.#sql.all<Stored>(ofNode, node)).map(fromStored);
  }

  async countEndedAfter(session: SessionId, seq: number): Promise<number> {
    const text = `SELECT count(*) AS count FROM
      (SELECT 1 FROM turns WHERE session = ? AND ended_seq > ? LIMIT ${mostUnseen}) AS unseen`;
    return (await this.#sql.get<{ count: number }>(text, session, seq))?.count ?? 0;
  }

  async usage(session?: SessionId): Promise<UsageTotal | null> {
    const found =
      session === undefined
        ? await this.#sql.get<UsageTotal>(totalOfOpen)
        : await this.#sql.get<UsageTotal>(totalOfOne, session);
    if (found === undefined || !found.turns) return null;
    // A database server returns large sums as text.
    return { ...found, turns: Number(found.turns), cost_unknown: Number(found.cost_unknown) };
  }

  async spent(query: SpentQuery): Promise<Spent> {
    return await spentOverTime(this.#sql, query);
  }

  async insert(turn: TurnRow): Promise<void> {
    const { id, session, started_at, ended_at, reason, text } = turn;
    const accepted = turn.accepted ? 1 : 0;
    const handed = JSON.stringify(turn.handed_over);
    await insertRow(
      this.#sql,
      insert,
      [id, session, started_at, ended_at, reason, toJson(turn.error), text, toJson(turn.usage), accepted, handed],
      {
        taken: `the turn ${id} was started before`,
        reference: `no session ${session} for the turn ${id}`,
      },
    );
  }

  async accept(id: TurnId): Promise<void> {
    const changes = await this.#sql.run("UPDATE turns SET accepted = 1 WHERE id = ?", id);
    if (changes === 0) throw new AegisError("not_found", `no turn ${id}`);
  }

  async handOver(id: TurnId, handed: readonly HandOver[]): Promise<void> {
    const text = "UPDATE turns SET handed_over = ? WHERE id = ? AND ended_at IS NULL";
    const changes = await this.#sql.run(text, JSON.stringify(handed), id);
    if (changes === 0) throw new AegisError("conflict", `the turn ${id} is not running`);
  }

  async spend(id: TurnId, usage: Usage): Promise<void> {
    const changes = await this.#sql.run(
      "UPDATE turns SET usage = ? WHERE id = ? AND ended_at IS NULL",
      toJson(usage),
      id,
    );
    if (changes === 0) throw new AegisError("conflict", `the turn ${id} is not running`);
  }

  async say(id: TurnId, text: string): Promise<void> {
    await this.#sql.run("UPDATE turns SET text = ? WHERE id = ? AND ended_at IS NULL", text, id);
  }

  async end(id: TurnId, { at, reason, error, text, usage, seq }: TurnEnd): Promise<void> {
    const changes = await this.#sql.run(end, at, reason, toJson(error), text, toJson(usage), seq, id);
    if (changes > 0) return;
    const before = await this.#get(id);
    if (before === null) throw new AegisError("not_found", `no turn ${id}`);
    throw new AegisError("conflict", `the turn ${id} has ended before (${before.reason})`);
  }

  async #get(id: TurnId): Promise<TurnRow | null> {
    const stored = await this.#sql.get<Stored>(`${select} WHERE id = ?`, id);
    return stored === undefined ? null : fromStored(stored);
  }
}

function toJson(value: TurnError | Usage | null): string | null {
  return value === null ? null : JSON.stringify(value);
}

function fromStored(stored: Stored): TurnRow {
  return {
    ...stored,
    accepted: stored.accepted === 1,
    handed_over: JSON.parse(stored.handed_over) as HandOver[],
    error: stored.error === null ? null : (JSON.parse(stored.error) as TurnError),
    usage: stored.usage === null ? null : (JSON.parse(stored.usage) as Usage),
  };
}
