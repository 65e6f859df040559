/** Messages, in order of admission. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { MessageId, SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { Message, MessageStatus } from "@aegis/contract/message.ts";
import { textDigest } from "@aegis/lib/text-digest.ts";
import { currentSender } from "../sql/old-senders.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql, Value } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";

export type MessageFilter = {
  status?: MessageStatus;
  /** Only messages that were admitted before this one. */
  before?: MessageId;
  limit?: number;
  /** Which end `limit` keeps; default: the oldest. */
  from?: "oldest" | "newest";
};

/** A harness receives the image file, not the name that the sender gave it. */
const table = new Table<Message, { sent_as: string | null }>(
  "messages",
  {
    id: "plain",
    session: "plain",
    sender: "json name",
    body: "later",
    sent: "later",
    attachments: "json text",
    status: "plain",
    chain: "plain",
    hops: "plain",
    admitted_at: "plain",
    turn: "plain",
  },
  { hidden: { sent_as: "name" }, readers: { sender: currentSender } },
);

export class MessageReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  async get(id: MessageId): Promise<Message | null> {
    const row = await table.one(this.sql, "WHERE id = ?", id);
    return row === null ? null : withSent(row);
  }

  /** Those that exist, in order of admission. */
  async named(ids: readonly MessageId[]): Promise<Message[]> {
    if (ids.length === 0) return [];
    return this.#list(`WHERE id ${this.sql.dialect.inArray} ORDER BY position`, JSON.stringify(ids));
  }

  /** In order of admission. */
  async list(session: SessionId, filter: MessageFilter = {}): Promise<Message[]> {
    const values: Value[] = [session];
    let where = "WHERE session = ?";
    // The literal lets the database use the partial index of pending messages.
    if (filter.status === "pending") where += " AND status = 'pending'";
    else if (filter.status !== undefined) {
      where += " AND status = ?";
      values.push(filter.status);
    }
    if (filter.before !== undefined) {
      where += " AND position < (SELECT position FROM messages WHERE id = ?)";
      values.push(filter.before);
    }
    if (filter.limit === undefined) return this.#list(`${where} ORDER BY position`, ...values);
    const isNewest = filter.from === "newest";
    const order = isNewest ? "ORDER BY position DESC" : "ORDER BY position";
    const found = await this.#list(`${where} ${order} LIMIT ?`, ...values, filter.limit);
    return isNewest ? found.reverse() : found;
  }

  async countPending(session: SessionId): Promise<number> {
    const text = "SELECT count(*) AS count FROM messages WHERE session = ? AND status = 'pending'";
    return (await this.sql.get<{ count: number }>(text, session))?.count ?? 0;
  }

  /** Sessions that have pending messages; with `node` those of that node. */
  async waiting(node?: string | null): Promise<SessionId[]> {
    const ofNode = "AND session IN (SELECT id FROM sessions WHERE node IS NOT DISTINCT FROM ?)";
    // Ordered by the oldest message of each session, so that the longest-waiting session is woken first.
    const text = (where: string) =>
      `SELECT session FROM messages WHERE status = 'pending' ${where} GROUP BY session ORDER BY min(position)`;
    const rows =
      node === undefined
        ? await this.sql.all<{ session: SessionId }>(text(""))
        : await this.sql.all<{ session: SessionId }>(text(ofNode), node);
    return rows.map((row) => row.session);
  }

  /** Pending messages of each session that has any. */
  async pendingBySession(): Promise<Map<SessionId, number>> {
    const text = "SELECT session, count(*) AS count FROM messages WHERE status = 'pending' GROUP BY session";
    const rows = await this.sql.all<{ session: SessionId; count: number }>(text);
    return new Map(rows.map((row) => [row.session, row.count]));
  }

  inTurn(turn: TurnId): Promise<Message[]> {
    return this.#list("WHERE turn = ? ORDER BY position", turn);
  }

  /** Those of any of the turns, in order of admission. */
  inTurns(turns: readonly TurnId[]): Promise<Message[]> {
    return this.#list(`WHERE turn ${this.sql.dialect.inArray} ORDER BY position`, JSON.stringify(turns));
  }

  /** Pending messages that no turn had and that hooks have not seen, in order of admission. Never Aegis's own notices. */
  unseen(session: SessionId): Promise<Message[]> {
    return this.#list(
      `WHERE session = ? AND status = 'pending' AND sent IS NULL AND turn IS NULL
         AND sender ->> '$.kind' <> 'substrate' ORDER BY position`,
      session,
    );
  }

  /** The digest of what was sent, for a message whose text hooks or the removal of secrets changed. */
  async sentAs(id: MessageId): Promise<string | null> {
    const text = "SELECT sent_as FROM messages WHERE id = ?";
    return (await this.sql.get<{ sent_as: string | null }>(text, id))?.sent_as ?? null;
  }

  async #list(rest: string, ...values: Value[]): Promise<Message[]> {
    return (await table.all(this.sql, rest, ...values)).map(withSent);
  }
}

export class MessageWrites extends MessageReads<RowWriter> {
  async insert(message: Message): Promise<void> {
    const { id, session, sent } = message;
    const row = { ...message, sent_as: sent === null ? null : textDigest(sent) };
    await this.sql.insert(table, row, {
      taken: `the message ${id} was admitted before`,
      reference: `no session ${session} for the message ${id}`,
    });
  }

  /** A message that is over loses its secrets: until then a crash sends it again. */
  async setStatus(ids: readonly MessageId[], status: MessageStatus, turn: TurnId | null): Promise<void> {
    for (const id of ids)
      if (!(await this.sql.update(table, { status, turn }, ["id = ?", id])))
        throw new AegisError("not_found", `no message ${id}`);
    if (isOver[status]) for (const id of ids) await this.#redact(id);
  }

  /** Records that hooks have seen the message, and the text that they made of it. */
  async receive(id: MessageId, body: string): Promise<void> {
    const sent = (await this.sql.get<{ body: string }>("SELECT body FROM messages WHERE id = ?", id))?.body;
    if (sent === undefined) throw new AegisError("not_found", `no message ${id}`);
    await this.#setText(id, { body, sent }, body === sent ? null : textDigest(sent));
  }

  /** Replaces the texts of a message that is over; the digest of the text as it was sent stays. */
  async replaceText(id: MessageId, text: Pick<Message, "body" | "sent">): Promise<void> {
    const before = await this.get(id);
    if (before === null) throw new AegisError("not_found", `no message ${id}`);
    await this.#setText(id, this.sql.clean(text), textDigest(before.sent ?? before.body));
    this.sql.scrub();
  }

  async #redact(id: MessageId): Promise<void> {
    if (!this.sql.redacts) return;
    const message = await this.get(id);
    if (message === null) return;
    const { body, sent } = message;
    const text = this.sql.clean({ body, sent });
    if (text.body !== body || text.sent !== sent) await this.replaceText(id, text);
  }

  async #setText(id: MessageId, { body, sent }: Pick<Message, "body" | "sent">, sentAs: string | null): Promise<void> {
    const text = "UPDATE messages SET body = ?, sent = ?, sent_as = coalesce(sent_as, ?) WHERE id = ?";
    await this.sql.run(text, body, sent, sentAs, id);
  }
}

/** A message that hooks have seen and left as it was has the same text twice. */
function withSent(row: Message): Message {
  if (row.sent === row.body) row.sent = null;
  return row;
}

/** Whether a message of this status is never sent (again). */
const isOver: Readonly<Record<MessageStatus, boolean>> = {
  pending: false,
  dispatched: false,
  done: true,
  cancelled: true,
  lost: true,
  refused: true,
};
