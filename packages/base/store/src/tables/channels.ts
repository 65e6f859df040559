/** Channels: what they received, what they have to send, and who and where their peers are. */
import type { AskId, SessionId } from "@aegis/contract/ids.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";

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

export type ChannelOutboxChange = Partial<
  Pick<ChannelOutboxRow, "state" | "attempts" | "not_before" | "external_id" | "error" | "settled_at">
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

const cursors = new Table<{ name: string; position: string; at: number }>("channel_cursors", {
  name: "name",
  position: "name",
  at: "plain",
});
/** The payload is removed when it has been handled. */
const inbox = new Table<ChannelInboxRow, object, "id">(
  "channel_inbox",
  {
    channel: "name",
    key: "name",
    payload: "any whole",
    state: "plain",
    attempts: "plain",
    error: "text",
    at: "plain",
  },
  { numbered: "id" },
);
const outbox = new Table<ChannelOutboxRow, object, "id">(
  "channel_outbox",
  {
    channel: "name",
    key: "name",
    place: "name",
    session: "plain",
    ask: "plain",
    kind: "plain",
    body: "any text",
    state: "plain",
    attempts: "plain",
    not_before: "plain",
    external_id: "name",
    error: "text",
    created_at: "plain",
    settled_at: "plain",
  },
  { numbered: "id" },
);
const peers = new Table<ChannelPeer>("channel_peers", {
  channel: "name",
  peer: "name",
  name: "text",
  place: "name",
  paired_at: "plain",
});
/** A person's message in a place goes to its session. */
const places = new Table<{ channel: string; place: string; session: SessionId }>("channel_places", {
  channel: "name",
  place: "name",
  session: "plain",
});
/** Answers of a session go to its places. */
const routes = new Table<{ channel: string; session: SessionId; place: string }>("channel_routes", {
  channel: "name",
  session: "plain",
  place: "name",
});

const unsent = "state IN ('waiting', 'sending')";

export class ChannelReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  async cursor(name: string): Promise<{ position: string; at: number } | null> {
    return (await this.sql.get("SELECT position, at FROM channel_cursors WHERE name = ?", name)) ?? null;
  }

  /** Rows that wait to be handled, in order of arrival. */
  received(channel: string, limit: number): Promise<ChannelInboxRow[]> {
    return inbox.all(this.sql, "WHERE channel = ? AND state = 'waiting' ORDER BY id LIMIT ?", channel, limit);
  }

  /** The first unsent row of each place. */
  nextOut(channel: string): Promise<ChannelOutboxRow[]> {
    const first = `SELECT min(id) FROM channel_outbox WHERE channel = ? AND ${unsent} GROUP BY place`;
    return outbox.all(this.sql, `WHERE id IN (${first}) ORDER BY id`, channel);
  }

  outByKey(channel: string, key: string): Promise<ChannelOutboxRow | null> {
    return outbox.one(this.sql, "WHERE channel = ? AND key = ?", channel, key);
  }

  /** The sent row that the service calls `externalId`. */
  outByExternal(channel: string, place: string, externalId: string): Promise<ChannelOutboxRow | null> {
    const newest = "WHERE channel = ? AND place = ? AND external_id = ? ORDER BY id DESC LIMIT 1";
    return outbox.one(this.sql, newest, channel, place, externalId);
  }

  /** The sent messages that show an ask. */
  outByAsk(channel: string, ask: AskId): Promise<ChannelOutboxRow[]> {
    return outbox.all(this.sql, "WHERE channel = ? AND ask = ? AND kind = 'ask' ORDER BY id", channel, ask);
  }

  async outCounts(channel: string): Promise<ChannelOutboxCounts> {
    const text = `SELECT count(*) FILTER (WHERE ${unsent}) AS waiting, count(*) FILTER (WHERE state = 'failed') AS failed
      FROM channel_outbox WHERE channel = ?`;
    return (await this.sql.get<ChannelOutboxCounts>(text, channel)) ?? { waiting: 0, failed: 0 };
  }

  /** The newest failed rows. */
  failedOut(channel: string, limit: number): Promise<ChannelOutboxRow[]> {
    return outbox.all(this.sql, "WHERE channel = ? AND state = 'failed' ORDER BY id DESC LIMIT ?", channel, limit);
  }

  peers(channel: string): Promise<ChannelPeer[]> {
    return peers.all(this.sql, "WHERE channel = ? ORDER BY paired_at", channel);
  }

  peer(channel: string, peer: string): Promise<ChannelPeer | null> {
    return peers.one(this.sql, "WHERE channel = ? AND peer = ?", channel, peer);
  }

  async sessionAt(channel: string, place: string): Promise<SessionId | null> {
    return (await places.one(this.sql, "WHERE channel = ? AND place = ?", channel, place))?.session ?? null;
  }

  async placesOf(channel: string, session: SessionId): Promise<string[]> {
    const rows = await routes.all(this.sql, "WHERE channel = ? AND session = ? ORDER BY place", channel, session);
    return rows.map(({ place }) => place);
  }
}

export class ChannelWrites extends ChannelReads<RowWriter> {
  setCursor(name: string, position: string, at: number): Promise<void> {
    return this.sql.put(cursors, "name", { name, position, at });
  }

  /** Returns false if the key was received before. */
  receive(row: Pick<ChannelInboxRow, "channel" | "key" | "payload" | "at">): Promise<boolean> {
    return this.sql.add(inbox, { ...row, state: "waiting", attempts: 0, error: null });
  }

  /** Marks it as handled and removes its payload. */
  async handled(id: number, error: string | null): Promise<void> {
    await this.sql.update(inbox, { state: "done", payload: null, error }, ["id = ?", id]);
    this.sql.scrub();
  }

  /** Counts a failed attempt to handle it. */
  async retryReceived(id: number, error: string): Promise<void> {
    await this.sql.run("UPDATE channel_inbox SET attempts = attempts + 1 WHERE id = ?", id);
    await this.sql.update(inbox, { error }, ["id = ?", id]);
  }

  /** Returns false if the key exists. */
  addOut(row: NewChannelOutboxRow): Promise<boolean> {
    const fresh = { attempts: 0, not_before: 0, external_id: null, error: null, settled_at: null };
    return this.sql.add(outbox, { ...row, ...fresh, state: "waiting" });
  }

  async updateOut(id: number, change: ChannelOutboxChange): Promise<void> {
    await this.sql.update(outbox, change, ["id = ?", id]);
  }

  /** Lets the unsent rows of a channel be tried immediately. */
  async hurryOut(channel: string): Promise<void> {
    await this.sql.update(outbox, { not_before: 0 }, [`channel = ? AND ${unsent}`, channel]);
  }

  /** Forgets what was handled or sent before that time. */
  async prune(before: number): Promise<void> {
    await this.sql.run("DELETE FROM channel_inbox WHERE state = 'done' AND at < ?", before);
    await this.sql.run("DELETE FROM channel_cursors WHERE name LIKE 'thread:%' AND at < ?", before);
    await this.sql.run("DELETE FROM channel_outbox WHERE state IN ('sent', 'failed') AND settled_at < ?", before);
  }

  putPeer(peer: ChannelPeer): Promise<void> {
    return this.sql.put(peers, "channel, peer", peer);
  }

  /** Returns false if there was none. */
  async removePeer(channel: string, peer: string): Promise<boolean> {
    return (await this.sql.run("DELETE FROM channel_peers WHERE channel = ? AND peer = ?", channel, peer)) === 1;
  }

  setSessionAt(channel: string, place: string, session: SessionId): Promise<void> {
    return this.sql.put(places, "channel, place", { channel, place, session });
  }

  async addRoute(channel: string, session: SessionId, place: string): Promise<void> {
    await this.sql.add(routes, { channel, session, place });
  }

  /** Moves the answers of a session from one place to another. */
  async moveRoute(channel: string, session: SessionId, from: string, to: string): Promise<void> {
    const text = "DELETE FROM channel_routes WHERE channel = ? AND session = ? AND place = ?";
    await this.sql.run(text, channel, session, from);
    await this.addRoute(channel, session, to);
  }
}
