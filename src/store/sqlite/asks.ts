/** Asks. Each is settled once. */
import type { Ask, AskAnswer, AskStatus } from "../../contract/ask.ts";
import { AegisError } from "../../contract/errors.ts";
import type { AskId, SessionId } from "../../contract/ids.ts";
import type { AskSettlement, AskTable } from "../store.ts";
import type { Sql } from "./connection.ts";
import { onConstraint } from "./errors.ts";

/** As stored: detail, options and answer are JSON. */
type Stored = Omit<Ask, "detail" | "options" | "answer"> & { detail: string; options: string; answer: string | null };

const columns =
  "id, session, kind, question, tool, detail, options, digest, status, answer, created_at, expires_at, settled_at";
const select = `SELECT ${columns} FROM asks`;
const insert = `INSERT INTO asks (${columns}, used) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)`;
const settle = `UPDATE asks SET status = ?, answer = ?, choice = ?, settled_at = ?, used = ?
  WHERE id = ? AND status = 'open'`;

export class SqliteAsks implements AskTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(id: AskId): Promise<Ask | null> {
    return toAsk(this.#sql.get<Stored>(`${select} WHERE id = ?`, id));
  }

  async list(filter: { status?: AskStatus | undefined; limit: number }): Promise<Ask[]> {
    const rows =
      filter.status === undefined
        ? this.#sql.all<Stored>(`${select} ORDER BY position DESC LIMIT ?`, filter.limit)
        : this.#sql.all<Stored>(
            `${select} WHERE status = ? ORDER BY position DESC LIMIT ?`,
            filter.status,
            filter.limit,
          );
    return rows.map(fromStored).reverse();
  }

  async findUnused(session: SessionId, digest: string): Promise<Ask | null> {
    const text = `${select} WHERE session = ? AND digest = ? AND used = 0 AND status IN ('open', 'answered')
      ORDER BY position DESC LIMIT 1`;
    return toAsk(this.#sql.get<Stored>(text, session, digest));
  }

  async hasAnswer(session: SessionId, tool: string, choice: string): Promise<boolean> {
    const text = "SELECT 1 FROM asks WHERE session = ? AND tool = ? AND choice = ? LIMIT 1";
    return this.#sql.get(text, session, tool, choice) !== undefined;
  }

  async insert(ask: Ask): Promise<void> {
    const { id, session, kind, question, tool, digest, status, created_at, expires_at, settled_at } = ask;
    const detail = JSON.stringify(ask.detail ?? null);
    const options = JSON.stringify(ask.options);
    try {
      this.#sql.run(
        insert,
        ...[id, session, kind, question, tool, detail, options, digest, status, answerText(ask.answer)],
        ...[created_at, expires_at, settled_at],
      );
    } catch (error) {
      throw onConstraint(error, {
        unique: `the ask ${id} exists`,
        reference: `no session ${session} for the ask ${id}`,
      });
    }
  }

  async settle(id: AskId, { status, answer, at, used }: AskSettlement): Promise<void> {
    const choice = answer?.choice ?? null;
    const { changes } = this.#sql.run(settle, status, answerText(answer), choice, at, used ? 1 : 0, id);
    if (changes > 0) return;
    const before = await this.get(id);
    if (before === null) throw new AegisError("not_found", `no ask ${id}`);
    throw new AegisError("conflict", `the ask ${id} is ${before.status} already`);
  }

  async markUsed(id: AskId): Promise<void> {
    const { changes } = this.#sql.run("UPDATE asks SET used = 1 WHERE id = ?", id);
    if (changes === 0) throw new AegisError("not_found", `no ask ${id}`);
  }
}

function answerText(answer: AskAnswer | null): string | null {
  return answer === null ? null : JSON.stringify(answer);
}

function toAsk(stored: Stored | undefined): Ask | null {
  return stored === undefined ? null : fromStored(stored);
}

function fromStored(stored: Stored): Ask {
  return {
    ...stored,
    detail: JSON.parse(stored.detail) as unknown,
    options: JSON.parse(stored.options) as string[],
    answer: stored.answer === null ? null : (JSON.parse(stored.answer) as AskAnswer),
  };
}
