/** Turns. Each ends once. */
import { AegisError } from "../../contract/errors.ts";
import type { SessionId, TurnId } from "../../contract/ids.ts";
import type { TurnError, Usage } from "../../contract/turn.ts";
import type { TurnEnd, TurnRow, TurnTable } from "../store.ts";
import type { Sql } from "./connection.ts";
import { onConstraint } from "./errors.ts";

/** As stored: error and usage are JSON, SQLite has no booleans. */
type Stored = Omit<TurnRow, "accepted" | "error" | "usage"> & {
  accepted: number;
  error: string | null;
  usage: string | null;
};

const columns = "id, session, started_at, ended_at, reason, error, text, usage, accepted";
const select = `SELECT ${columns} FROM turns`;
const insert = `INSERT INTO turns (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const end = `UPDATE turns SET ended_at = ?, reason = ?, error = ?, text = ?, usage = ?, ended_seq = ?
  WHERE id = ? AND ended_at IS NULL`;

export class SqliteTurns implements TurnTable {
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
      return this.#sql.all<Stored>(ended, session, until, limit).map(fromStored);
    }
    const text = `${select} WHERE session = ? ORDER BY position DESC LIMIT ?`;
    return this.#sql.all<Stored>(text, session, limit).map(fromStored);
  }

  async open(): Promise<TurnRow[]> {
    return this.#sql.all<Stored>(`${select} WHERE ended_at IS NULL ORDER BY position`).map(fromStored);
  }

  async countEndedAfter(session: SessionId, seq: number): Promise<number> {
    const text = "SELECT count(*) AS count FROM turns WHERE session = ? AND ended_seq > ?";
    return this.#sql.get<{ count: number }>(text, session, seq)?.count ?? 0;
  }

  async insert(turn: TurnRow): Promise<void> {
    const { id, session, started_at, ended_at, reason, text } = turn;
    const accepted = turn.accepted ? 1 : 0;
    try {
      this.#sql.run(
        insert,
        ...[id, session, started_at, ended_at, reason, toJson(turn.error), text, toJson(turn.usage), accepted],
      );
    } catch (error) {
      throw onConstraint(error, {
        unique: `the turn ${id} was started before`,
        reference: `no session ${session} for the turn ${id}`,
      });
    }
  }

  async accept(id: TurnId): Promise<void> {
    const { changes } = this.#sql.run("UPDATE turns SET accepted = 1 WHERE id = ?", id);
    if (changes === 0) throw new AegisError("not_found", `no turn ${id}`);
  }

  async spend(id: TurnId, usage: Usage): Promise<void> {
    const { changes } = this.#sql.run(
      "UPDATE turns SET usage = ? WHERE id = ? AND ended_at IS NULL",
      toJson(usage),
      id,
    );
    if (changes === 0) throw new AegisError("conflict", `the turn ${id} is not under way`);
  }

  async end(id: TurnId, { at, reason, error, text, usage, seq }: TurnEnd): Promise<void> {
    const { changes } = this.#sql.run(end, at, reason, toJson(error), text, toJson(usage), seq, id);
    if (changes > 0) return;
    const before = this.#get(id);
    if (before === null) throw new AegisError("not_found", `no turn ${id}`);
    throw new AegisError("conflict", `the turn ${id} has ended before (${before.reason})`);
  }

  #get(id: TurnId): TurnRow | null {
    const stored = this.#sql.get<Stored>(`${select} WHERE id = ?`, id);
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
    error: stored.error === null ? null : (JSON.parse(stored.error) as TurnError),
    usage: stored.usage === null ? null : (JSON.parse(stored.usage) as Usage),
  };
}
