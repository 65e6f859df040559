/** The table of messages, part of the store port. */
import type { MessageId, SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { Message, MessageStatus } from "@aegis/contract/message.ts";

export type MessageFilter = {
  status?: MessageStatus;
  /** Only messages that were admitted before this one. */
  before?: MessageId;
  limit?: number;
  /** Which end `limit` keeps; default: the oldest. */
  from?: "oldest" | "newest";
};

export interface MessageReads {
  get(id: MessageId): Promise<Message | null>;
  /** Those that exist, in order of admission. */
  named(ids: readonly MessageId[]): Promise<Message[]>;
  /** In order of admission. */
  list(session: SessionId, filter?: MessageFilter): Promise<Message[]>;
  countPending(session: SessionId): Promise<number>;
  /** Sessions that have pending messages; with `node` those of that node. */
  waiting(node?: string | null): Promise<SessionId[]>;
  /** Pending messages of each session that has any. */
  pendingBySession(): Promise<Map<SessionId, number>>;
  inTurn(turn: TurnId): Promise<Message[]>;
  /** Those of any of the turns, in order of admission. */
  inTurns(turns: readonly TurnId[]): Promise<Message[]>;
  /** Pending messages that no turn had and that hooks have not seen, in order of admission. Never Aegis's own notices. */
  unseen(session: SessionId): Promise<Message[]>;
  /** The digest of what was sent, for a message whose text hooks or the removal of secrets changed. */
  sentAs(id: MessageId): Promise<string | null>;
}

export interface MessageTable extends MessageReads {
  insert(message: Message): Promise<void>;
  setStatus(ids: readonly MessageId[], status: MessageStatus, turn: TurnId | null): Promise<void>;
  /** Records that hooks have seen the message, and the text that they made of it. */
  receive(id: MessageId, body: string): Promise<void>;
  /** Replaces the texts of a message that is over; the digest of the text as it was sent stays. */
  replaceText(id: MessageId, text: Pick<Message, "body" | "sent">): Promise<void>;
}
