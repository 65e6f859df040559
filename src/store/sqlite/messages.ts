/** Messages, in the order they were admitted. */
import { AegisError } from "../../contract/errors.ts";
import type { MessageId, SessionId, TurnId } from "../../contract/ids.ts";
import type { Attachment, Message, MessageStatus, Sender } from "../../contract/message.ts";
import type { MessageTable } from "../store.ts";
import type { Sql } from "./connection.ts";
import { onConstraint } from "./errors.ts";

/** As stored: what has parts is JSON. */
type Stored = Omit<Message, "sender" | "attachments"> & { sender: string; attachments: string };

const columns = "id, session, sender, body, attachments, status, chain, hops, admitted_at, turn";
const select = `SELECT ${columns} FROM messages`;
const insert = `INSERT INTO messages (${columns}, sent_as) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export class SqliteMessages implements MessageTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(id: MessageId): Promise<Message | null> {
    const stored = this.#sql.get<Stored>(`${select} WHERE id = ?`, id);
    return stored === undefined ? null : fromStored(stored);
  }

  async list(session: SessionId, filter: { status?: MessageStatus; limit?: number } = {}): Promise<Message[]> {
    const limit = filter.limit ?? -1;
    // The literal lets SQLite use the index of pending messages.
    if (filter.status === "pending")
      return this.#list(`WHERE session = ? AND status = 'pending' ORDER BY position LIMIT ?`, session, limit);
    if (filter.status !== undefined)
      return this.#list("WHERE session = ? AND status = ? ORDER BY position LIMIT ?", session, filter.status, limit);
    return this.#list("WHERE session = ? ORDER BY position LIMIT ?", session, limit);
  }

  async countPending(session: SessionId): Promise<number> {
    const text = "SELECT count(*) AS count FROM messages WHERE session = ? AND status = 'pending'";
    return this.#sql.get<{ count: number }>(text, session)?.count ?? 0;
  }

  async waiting(): Promise<SessionId[]> {
    // By the oldest message each has, so that the one who waits longest is woken first.
    const text = "SELECT session FROM messages WHERE status = 'pending' GROUP BY session ORDER BY min(position)";
    return this.#sql.all<{ session: SessionId }>(text).map((row) => row.session);
  }

  async pendingBySession(): Promise<Map<SessionId, number>> {
    const text = "SELECT session, count(*) AS count FROM messages WHERE status = 'pending' GROUP BY session";
    const rows = this.#sql.all<{ session: SessionId; count: number }>(text);
    return new Map(rows.map((row) => [row.session, row.count]));
  }

  async inTurn(turn: TurnId): Promise<Message[]> {
    return this.#list("WHERE turn = ? ORDER BY position", turn);
  }

  async inTurns(turns: readonly TurnId[]): Promise<Message[]> {
    return this.#list("WHERE turn IN (SELECT value FROM json_each(?)) ORDER BY position", JSON.stringify(turns));
  }

  async sentAs(id: MessageId): Promise<string | null> {
    const text = "SELECT sent_as FROM messages WHERE id = ?";
    return this.#sql.get<{ sent_as: string | null }>(text, id)?.sent_as ?? null;
  }

  async insert(message: Message, sentAs: string | null = null): Promise<void> {
    const { id, session, body, status, chain, hops, admitted_at, turn } = message;
    const [sender, attachments] = [JSON.stringify(message.sender), JSON.stringify(message.attachments)];
    try {
      this.#sql.run(insert, id, session, sender, body, attachments, status, chain, hops, admitted_at, turn, sentAs);
    } catch (error) {
      throw onConstraint(error, {
        unique: `the message ${id} was admitted before`,
        reference: `no session ${session} for the message ${id}`,
      });
    }
  }

  async setStatus(ids: readonly MessageId[], status: MessageStatus, turn: TurnId | null): Promise<void> {
    for (const id of ids) {
      const { changes } = this.#sql.run("UPDATE messages SET status = ?, turn = ? WHERE id = ?", status, turn, id);
      if (changes === 0) throw new AegisError("not_found", `no message ${id}`);
    }
  }

  #list(where: string, ...values: (string | number)[]): Message[] {
    return this.#sql.all<Stored>(`${select} ${where}`, ...values).map(fromStored);
  }
}

function fromStored(stored: Stored): Message {
  return {
    ...stored,
    sender: JSON.parse(stored.sender) as Sender,
    attachments: JSON.parse(stored.attachments) as Attachment[],
  };
}
