/** Asks. Each is settled once. */
import type { Ask, AskAnswer, AskChange, AskOrigin, AskStatus } from "@aegis/contract/ask.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { AskId, SessionId } from "@aegis/contract/ids.ts";
import type { NeedsYou } from "@aegis/contract/session.ts";
import type { AskSettlement, AskTable } from "../store.ts";
import { insertRow, type Sql } from "./sql.ts";

/** As stored: columns that are not plain text or a number are JSON. */
type Json = "gate" | "detail" | "changes" | "origin" | "options" | "answer";
type Stored = Omit<Ask, Json> & {
  gate: number;
  detail: string;
  changes: string;
  origin: string | null;
  options: string;
  answer: string | null;
};

const columns = `id, session, kind, question, reason, gate, tool, detail, changes, cwd, origin, omitted, options, digest, status,
  answer, created_at, expires_at, settled_at, settled_by, settled_reason`;
const select = `SELECT ${columns} FROM asks`;
const insert = `INSERT INTO asks (${columns}, used) VALUES (${"?, ".repeat(columns.split(",").length)}0)
  ON CONFLICT DO NOTHING`;
const settle = `UPDATE asks SET status = ?, answer = ?, choice = ?, settled_at = ?, used = ?, settled_by = ?,
  settled_reason = ? WHERE id = ? AND status = 'open'`;

export class SqlAsks implements AskTable {
  readonly #sql: Sql;
  readonly #scrub: () => void;

  constructor(sql: Sql, scrub: () => void) {
    this.#sql = sql;
    this.#scrub = scrub;
  }

  async get(id: AskId): Promise<Ask | null> {
    return toAsk(await this.#sql.get<Stored>(`${select} WHERE id = ?`, id));
  }

  async list(filter: { status?: AskStatus | undefined; limit: number }): Promise<Ask[]> {
    const rows =
      filter.status === undefined
        ? await this.#sql.all<Stored>(`${select} ORDER BY position DESC LIMIT ?`, filter.limit)
        : await this.#sql.all<Stored>(
            `${select} WHERE status = ? ORDER BY position DESC LIMIT ?`,
            filter.status,
            filter.limit,
          );
    return rows.map(fromStored).reverse();
  }

  async findUnused(session: SessionId, digest: string): Promise<Ask | null> {
    const text = `${select} WHERE session = ? AND digest = ? AND used = 0 AND status IN ('open', 'answered')
      ORDER BY position DESC LIMIT 1`;
    return toAsk(await this.#sql.get<Stored>(text, session, digest));
  }

  async hasAnswer(
    about: { session: SessionId; tool: string; gate: boolean; reason: string | null },
    choice: string,
  ): Promise<boolean> {
    const { session, tool, gate, reason } = about;
    const text = `SELECT 1 FROM asks WHERE session = ? AND tool = ? AND choice = ? AND gate = ?
      AND (gate = 0 OR reason IS NOT DISTINCT FROM ?) LIMIT 1`;
    return (await this.#sql.get(text, session, tool, choice, gate ? 1 : 0, reason)) !== undefined;
  }

  async openBySession(): Promise<Map<SessionId, NeedsYou>> {
    const text = `SELECT session, count(*) AS asks, min(created_at) AS since FROM asks WHERE status = 'open'
      GROUP BY session`;
    const rows = await this.#sql.all<NeedsYou & { session: SessionId }>(text);
    return new Map(rows.map(({ session, asks, since }) => [session, { asks, since }]));
  }

  async insert(ask: Ask): Promise<void> {
    const { id, session, kind, question, reason, gate, tool, cwd, omitted, digest, status } = ask;
    const { created_at, expires_at, settled_at, settled_by, settled_reason } = ask;
    const [detail, changes, origin, options] = [ask.detail ?? null, ask.changes, ask.origin, ask.options].map(jsonText);
    await insertRow(
      this.#sql,
      insert,
      [
        ...[
          id,
          session,
          kind,
          question,
          reason,
          gate ? 1 : 0,
          tool,
          detail ?? "null",
          changes ?? "[]",
          cwd,
          origin ?? null,
          omitted,
        ],
        ...[options ?? "[]", digest, status, jsonText(ask.answer)],
        ...[created_at, expires_at, settled_at, settled_by, settled_reason],
      ],
      {
        taken: `the ask ${id} exists`,
        reference: `no session ${session} for the ask ${id}`,
      },
    );
  }

  async settle(id: AskId, { status, answer, at, used, by, reason }: AskSettlement): Promise<void> {
    const choice = answer?.choice ?? null;
    const changes = await this.#sql.run(settle, status, jsonText(answer), choice, at, used ? 1 : 0, by, reason, id);
    if (changes > 0) return;
    const before = await this.get(id);
    if (before === null) throw new AegisError("not_found", `no ask ${id}`);
    throw new AegisError("conflict", `the ask ${id} is ${before.status} already`);
  }

  async markUsed(id: AskId): Promise<void> {
    const changes = await this.#sql.run("UPDATE asks SET used = 1 WHERE id = ?", id);
    if (changes === 0) throw new AegisError("not_found", `no ask ${id}`);
  }

  async replaceAnswer(id: AskId, answer: AskAnswer): Promise<void> {
    const { choice } = answer;
    const changes = await this.#sql.run(
      "UPDATE asks SET answer = ?, choice = ? WHERE id = ? AND answer IS NOT NULL",
      jsonText(answer),
      choice,
      id,
    );
    this.#scrub();
    if (changes === 0) throw new AegisError("not_found", `no answer to the ask ${id}`);
  }
}

function jsonText(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}

function toAsk(stored: Stored | undefined): Ask | null {
  return stored === undefined ? null : fromStored(stored);
}

function fromStored(stored: Stored): Ask {
  return {
    ...stored,
    gate: stored.gate === 1,
    detail: JSON.parse(stored.detail) as unknown,
    changes: JSON.parse(stored.changes) as AskChange[],
    origin: stored.origin === null ? null : (JSON.parse(stored.origin) as AskOrigin),
    options: JSON.parse(stored.options) as string[],
    answer: stored.answer === null ? null : (JSON.parse(stored.answer) as AskAnswer),
  };
}
