/** Asks. Each is settled once. */
import type { Ask, AskAnswer, AskStatus } from "@aegis/contract/ask.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { AskId, SessionId } from "@aegis/contract/ids.ts";
import type { NeedsYou } from "@aegis/contract/session.ts";
import { currentOrigin } from "../sql/old-senders.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";

export type AskSettlement = {
  status: Exclude<AskStatus, "open">;
  answer: AskAnswer | null;
  at: number;
  /** The asking session has received it. */
  used: boolean;
  by: string | null;
  reason: string | null;
};

/** The subject of an ask records what a person decided about. */
const table = new Table<Ask, { choice: string | null; used: boolean }>(
  "asks",
  {
    id: "plain",
    session: "plain",
    kind: "plain",
    question: "whole",
    reason: "whole",
    gate: "flag",
    tool: "name",
    detail: "any whole",
    changes: "json whole",
    cwd: "name",
    origin: "json name",
    omitted: "plain",
    options: "json whole",
    digest: "name",
    status: "plain",
    answer: "json later",
    created_at: "plain",
    expires_at: "plain",
    settled_at: "plain",
    settled_by: "text",
    settled_reason: "text",
  },
  { hidden: { choice: "later", used: "flag" }, readers: { origin: currentOrigin } },
);

export class AskReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  get(id: AskId): Promise<Ask | null> {
    return table.one(this.sql, "WHERE id = ?", id);
  }

  /** The newest `limit`, oldest first. */
  async list({ status, limit }: { status?: AskStatus | undefined; limit: number }): Promise<Ask[]> {
    const newest = "ORDER BY position DESC LIMIT ?";
    const rows =
      status === undefined
        ? await table.all(this.sql, newest, limit)
        : await table.all(this.sql, `WHERE status = ? ${newest}`, status, limit);
    return rows.reverse();
  }

  /** The ask about this action that is open, or was answered while no caller waited. */
  findUnused(session: SessionId, digest: string): Promise<Ask | null> {
    const unused = `WHERE session = ? AND digest = ? AND used = 0 AND status IN ('open', 'answered')
      ORDER BY position DESC LIMIT 1`;
    return table.one(this.sql, unused, session, digest);
  }

  /** Whether the session was ever given this answer about the tool; for a gate, when it asked for this very reason. */
  async hasAnswer(
    about: { session: SessionId; tool: string; gate: boolean; reason: string | null },
    choice: string,
  ): Promise<boolean> {
    const { session, tool, gate, reason } = about;
    const text = `SELECT 1 FROM asks WHERE session = ? AND tool = ? AND choice = ? AND gate = ?
      AND (gate = 0 OR reason IS NOT DISTINCT FROM ?) LIMIT 1`;
    return (await this.sql.get(text, session, tool, choice, gate ? 1 : 0, reason)) !== undefined;
  }

  /** Sessions with open asks. */
  async openBySession(): Promise<Map<SessionId, NeedsYou>> {
    const text = `SELECT session, count(*) AS asks, min(created_at) AS since FROM asks WHERE status = 'open'
      GROUP BY session`;
    const rows = await this.sql.all<NeedsYou & { session: SessionId }>(text);
    return new Map(rows.map(({ session, asks, since }) => [session, { asks, since }]));
  }
}

export class AskWrites extends AskReads<RowWriter> {
  async insert(ask: Ask): Promise<void> {
    await this.sql.insert(
      table,
      { ...ask, used: false },
      {
        taken: `the ask ${ask.id} exists`,
        reference: `no session ${ask.session} for the ask ${ask.id}`,
      },
    );
  }

  /** Throws `conflict` when it is settled already. */
  async settle(id: AskId, { status, answer, at, used, by, reason }: AskSettlement): Promise<void> {
    const settlement = { status, answer, choice: answer?.choice ?? null, used };
    const change = { ...settlement, settled_at: at, settled_by: by, settled_reason: reason };
    if (!(await this.sql.update(table, change, ["id = ? AND status = 'open'", id]))) {
      const before = await this.get(id);
      if (before === null) throw new AegisError("not_found", `no ask ${id}`);
      throw new AegisError("conflict", `the ask ${id} is ${before.status} already`);
    }
    if (used) await this.#redactAnswer(id);
  }

  /** The asking session has received the answer, so it applies to nothing else and loses its secrets. */
  async markUsed(id: AskId): Promise<void> {
    if (!(await this.sql.update(table, { used: true }, ["id = ?", id])))
      throw new AegisError("not_found", `no ask ${id}`);
    await this.#redactAnswer(id);
  }

  async #redactAnswer(id: AskId): Promise<void> {
    if (!this.sql.redacts) return;
    const answer = (await this.get(id))?.answer ?? null;
    const clean = this.sql.clean(answer);
    if (clean === null || clean === answer) return;
    await this.sql.update(table, { answer: clean, choice: clean.choice }, ["id = ?", id]);
    this.sql.scrub();
  }
}
