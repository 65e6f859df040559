/** Messages, in order of admission. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { MessageId, SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { Attachment, Message, MessageStatus, Sender } from "@aegis/contract/message.ts";
import { textDigest } from "@aegis/lib/text-digest.ts";
import type { MessageFilter, MessageTable } from "../store.ts";
import { insertInto, insertRow, type Sql, type Value } from "./sql.ts";

/** As stored: structured columns are JSON. */
type Stored = Omit<Message, "sender" | "attachments"> & { sender: string; attachments: string };

const columns = "id, session, sender, body, sent, attachments, status, chain, hops, admitted_at, turn";
const select = `SELECT ${columns} FROM messages`;
const insert = insertInto("messages", [...columns.split(", "), "sent_as"]);

export class SqlMessages implements MessageTable {
  readonly #sql: Sql;
  readonly #scrub: () => void;

  constructor(sql: Sql, scrub: () => void) {
    this.#sql = sql;
    this.#scrub = scrub;
  }

  async get(id: MessageId): Promise<Message | null> {
    const stored = await this.#sql.get<Stored>(`${select} WHERE id = ?`, id);
    return stored === undefined ? null : fromStored(stored);
  }

  async named(ids: readonly MessageId[]): Promise<Message[]> {
    if (ids.length === 0) return [];
    return this.#list(`WHERE id ${this.#sql.dialect.inArray} ORDER BY position`, JSON.stringify(ids));
  }

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
    return (await this.#sql.get<{ count: number }>(text, session))?.count ?? 0;
  }

  async waiting(node?: string | null): Promise<SessionId[]> {
    const ofNode = "AND session IN (SELECT id FROM sessions WHERE node IS NOT DISTINCT FROM ?)";
    // Ordered by the oldest message of each session, so that the longest-waiting session is woken first.
    const text = (where: string) =>
      `SELECT session FROM messages WHERE status = 'pending' ${where} GROUP BY session ORDER BY min(position)`;
    const rows =
      node === undefined
        ? await this.#sql.all<{ session: SessionId }>(text(""))
        : await this.#sql.all<{ session: SessionId }>(text(ofNode), node);
    return rows.map((row) => row.session);
  }

  async pendingBySession(): Promise<Map<SessionId, number>> {
    const text = "SELECT session, count(*) AS count FROM messages WHERE status = 'pending' GROUP BY session";
    const rows = await this.#sql.all<{ session: SessionId; count: number }>(text);
    return new Map(rows.map((row) => [row.session, row.count]));
  }

  async inTurn(turn: TurnId): Promise<Message[]> {
    return this.#list("WHERE turn = ? ORDER BY position", turn);
  }

  async inTurns(turns: readonly TurnId[]): Promise<Message[]> {
    return await this.#list(`WHERE turn ${this.#sql.dialect.inArray} ORDER BY position`, JSON.stringify(turns));
  }

  async sentAs(id: MessageId): Promise<string | null> {
    const text = "SELECT sent_as FROM messages WHERE id = ?";
    return (await this.#sql.get<{ sent_as: string | null }>(text, id))?.sent_as ?? null;
  }

  async unseen(session: SessionId): Promise<Message[]> {
    return this.#list(
      `WHERE session = ? AND status = 'pending' AND sent IS NULL AND turn IS NULL
         AND sender ->> '$.kind' <> 'substrate' ORDER BY position`,
      session,
    );
  }

  async insert(message: Message): Promise<void> {
    const { id, session, body, sent, status, chain, hops, admitted_at, turn } = message;
    const [sender, attachments] = [JSON.stringify(message.sender), JSON.stringify(message.attachments)];
    const sentAs = sent === null ? null : textDigest(sent);
    const values = [id, session, sender, body, sent, attachments, status, chain, hops, admitted_at, turn, sentAs];
    await insertRow(this.#sql, insert, values, {
      taken: `the message ${id} was admitted before`,
      reference: `no session ${session} for the message ${id}`,
    });
  }

  async setStatus(ids: readonly MessageId[], status: MessageStatus, turn: TurnId | null): Promise<void> {
    for (const id of ids) {
      const changes = await this.#sql.run("UPDATE messages SET status = ?, turn = ? WHERE id = ?", status, turn, id);
      if (changes === 0) throw new AegisError("not_found", `no message ${id}`);
    }
  }

  async receive(id: MessageId, body: string): Promise<void> {
    const sent = (await this.#sql.get<{ body: string }>("SELECT body FROM messages WHERE id = ?", id))?.body;
    if (sent === undefined) throw new AegisError("not_found", `no message ${id}`);
    const text = "UPDATE messages SET body = ?, sent = ?, sent_as = coalesce(sent_as, ?) WHERE id = ?";
    await this.#sql.run(text, body, sent, body === sent ? null : textDigest(sent), id);
  }

  async replaceText(id: MessageId, { body, sent }: Pick<Message, "body" | "sent">): Promise<void> {
    const before = await this.get(id);
    if (before === null) throw new AegisError("not_found", `no message ${id}`);
    const text = "UPDATE messages SET body = ?, sent = ?, sent_as = coalesce(sent_as, ?) WHERE id = ?";
    await this.#sql.run(text, body, sent, textDigest(before.sent ?? before.body), id);
    this.#scrub();
  }

  async #list(where: string, ...values: Value[]): Promise<Message[]> {
    return (await this.#sql.all<Stored>(`${select} ${where}`, ...values)).map(fromStored);
  }
}

function fromStored(stored: Stored): Message {
  return {
    ...stored,
    sent: stored.sent === stored.body ? null : stored.sent,
    sender: JSON.parse(stored.sender) as Sender,
    attachments: JSON.parse(stored.attachments) as Attachment[],
  };
}
