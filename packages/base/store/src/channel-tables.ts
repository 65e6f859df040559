/** The tables of channels, part of the store port. */
import type { AskId, SessionId } from "@aegis/contract/ids.ts";

/** Something that a channel received. The key is unique per channel, so that a repeated delivery adds nothing. */
export type ChannelInboxRow = {
  id: number;
  channel: string;
  key: string;
  /** Emptied when it has been handled. */
  payload: unknown;
  state: "waiting" | "done";
  attempts: number;
  error: string | null;
  at: number;
};

/** `sending` was handed to the service; after a crash it is unknown whether it arrived. */
type ChannelOutboxState = "waiting" | "sending" | "sent" | "failed";

export type ChannelOutboxRow = {
  id: number;
  channel: string;
  /** Unique per channel. */
  key: string;
  /** Rows of one place are sent in order. */
  place: string;
  session: SessionId | null;
  ask: AskId | null;
  kind: "text" | "file" | "ask" | "ask_settled" | "event";
  body: unknown;
  state: ChannelOutboxState;
  attempts: number;
  not_before: number;
  /** What the service calls it. */
  external_id: string | null;
  error: string | null;
  created_at: number;
  settled_at: number | null;
};

export type NewChannelOutboxRow = Pick<
  ChannelOutboxRow,
  "channel" | "key" | "place" | "session" | "ask" | "kind" | "body" | "created_at"
>;

export type ChannelOutboxCounts = { waiting: number; failed: number };

export type ChannelPeer = {
  channel: string;
  peer: string;
  name: string;
  /** Where the peer is told about things that belong to no other place. */
  place: string;
  paired_at: number;
};

export interface ChannelReads {
  cursor(name: string): Promise<{ position: string; at: number } | null>;
  /** Rows that wait to be handled, in order of arrival. */
  received(channel: string, limit: number): Promise<ChannelInboxRow[]>;
  /** The first unsent row of each place. */
  nextOut(channel: string): Promise<ChannelOutboxRow[]>;
  outByKey(channel: string, key: string): Promise<ChannelOutboxRow | null>;
  /** The sent row that the service calls `externalId`. */
  outByExternal(channel: string, place: string, externalId: string): Promise<ChannelOutboxRow | null>;
  /** The sent messages that show an ask. */
  outByAsk(channel: string, ask: AskId): Promise<ChannelOutboxRow[]>;
  outCounts(channel: string): Promise<ChannelOutboxCounts>;
  /** The newest failed rows. */
  failedOut(channel: string, limit: number): Promise<ChannelOutboxRow[]>;
  peers(channel: string): Promise<ChannelPeer[]>;
  peer(channel: string, peer: string): Promise<ChannelPeer | null>;
  sessionAt(channel: string, place: string): Promise<SessionId | null>;
  placesOf(channel: string, session: SessionId): Promise<string[]>;
}

export interface ChannelTable extends ChannelReads {
  setCursor(name: string, position: string, at: number): Promise<void>;
  /** Returns false if the key was received before. */
  receive(row: Pick<ChannelInboxRow, "channel" | "key" | "payload" | "at">): Promise<boolean>;
  /** Marks it as handled and removes its payload. */
  handled(id: number, error: string | null): Promise<void>;
  /** Counts a failed attempt to handle it. */
  retryReceived(id: number, error: string): Promise<void>;
  /** Returns false if the key exists. */
  addOut(row: NewChannelOutboxRow): Promise<boolean>;
  updateOut(
    id: number,
    change: Partial<
      Pick<ChannelOutboxRow, "state" | "attempts" | "not_before" | "external_id" | "error" | "settled_at">
    >,
  ): Promise<void>;
  /** Lets the unsent rows of a channel be tried immediately. */
  hurryOut(channel: string): Promise<void>;
  /** Forgets what was handled or sent before that time. */
  prune(before: number): Promise<void>;
  putPeer(peer: ChannelPeer): Promise<void>;
  /** Returns false if there was none. */
  removePeer(channel: string, peer: string): Promise<boolean>;
  setSessionAt(channel: string, place: string, session: SessionId): Promise<void>;
  addRoute(channel: string, session: SessionId, place: string): Promise<void>;
  /** Moves the answers of a session from one place to another. */
  moveRoute(channel: string, session: SessionId, from: string, to: string): Promise<void>;
}
