/** Channels: what they received, what they have to send, and who and where their peers are. */
import type { AskId, SessionId } from "@aegis/contract/ids.ts";
import type {
  ChannelInboxRow,
  ChannelOutboxCounts,
  ChannelOutboxRow,
  ChannelPeer,
  ChannelTable,
  NewChannelOutboxRow,
} from "../store.ts";
import type { Sql, Value } from "./sql.ts";

type StoredIn = Omit<ChannelInboxRow, "payload"> & { payload: string };
type StoredOut = Omit<ChannelOutboxRow, "body"> & { body: string };
type OutChange = Parameters<ChannelTable["updateOut"]>[1];

const outbox = `SELECT id, channel, key, place, session, ask, kind, body, state, attempts, not_before, external_id, error,
  created_at, settled_at FROM channel_outbox`;
const unsent = "state IN ('waiting', 'sending')";
const changeable = ["state", "attempts", "not_before", "external_id", "error", "settled_at"] as const;

export class SqlChannels implements ChannelTable {
  readonly #sql: Sql;
  readonly #scrub: () => void;

  /** `scrub` is called when earlier versions of a row must not be kept. */
  constructor(sql: Sql, scrub: () => void) {
    this.#sql = sql;
    this.#scrub = scrub;
  }

  async cursor(name: string): Promise<{ position: string; at: number } | null> {
    return (await this.#sql.get("SELECT position, at FROM channel_cursors WHERE name = ?", name)) ?? null;
  }

  async setCursor(name: string, position: string, at: number): Promise<void> {
    const text = `INSERT INTO channel_cursors (name, position, at) VALUES (?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET position = excluded.position, at = excluded.at`;
    await this.#sql.run(text, name, position, at);
  }

  async received(channel: string, limit: number): Promise<ChannelInboxRow[]> {
    const text = `SELECT id, channel, key, payload, state, attempts, error, at FROM channel_inbox
      WHERE channel = ? AND state = 'waiting' ORDER BY id LIMIT ?`;
    const rows = await this.#sql.all<StoredIn>(text, channel, limit);
    return rows.map((row) => ({ ...row, payload: JSON.parse(row.payload) as unknown }));
  }

  async receive({ channel, key, payload, at }: Parameters<ChannelTable["receive"]>[0]): Promise<boolean> {
    const text = `INSERT INTO channel_inbox (channel, key, payload, state, attempts, at)
      VALUES (?, ?, ?, 'waiting', 0, ?) ON CONFLICT (channel, key) DO NOTHING`;
    return (await this.#sql.run(text, channel, key, JSON.stringify(payload), at)) === 1;
  }

  async handled(id: number, error: string | null): Promise<void> {
    await this.#sql.run("UPDATE channel_inbox SET state = 'done', payload = 'null', error = ? WHERE id = ?", error, id);
    this.#scrub();
  }

  async retryReceived(id: number, error: string): Promise<void> {
    await this.#sql.run("UPDATE channel_inbox SET attempts = attempts + 1, error = ? WHERE id = ?", error, id);
  }

  async nextOut(channel: string): Promise<ChannelOutboxRow[]> {
    const first = `SELECT min(id) FROM channel_outbox WHERE channel = ? AND ${unsent} GROUP BY place`;
    return (await this.#sql.all<StoredOut>(`${outbox} WHERE id IN (${first}) ORDER BY id`, channel)).map(fromStored);
  }

  async outByKey(channel: string, key: string): Promise<ChannelOutboxRow | null> {
    return this.#one("channel = ? AND key = ?", channel, key);
  }

  async outByExternal(channel: string, place: string, externalId: string): Promise<ChannelOutboxRow | null> {
    return this.#one("channel = ? AND place = ? AND external_id = ? ORDER BY id DESC", channel, place, externalId);
  }

  async outByAsk(channel: string, ask: AskId): Promise<ChannelOutboxRow[]> {
    const text = `${outbox} WHERE channel = ? AND ask = ? AND kind = 'ask' ORDER BY id`;
    return (await this.#sql.all<StoredOut>(text, channel, ask)).map(fromStored);
  }

  async outCounts(channel: string): Promise<ChannelOutboxCounts> {
    const text = `SELECT count(*) FILTER (WHERE ${unsent}) AS waiting, count(*) FILTER (WHERE state = 'failed') AS failed
      FROM channel_outbox WHERE channel = ?`;
    return (await this.#sql.get<ChannelOutboxCounts>(text, channel)) ?? { waiting: 0, failed: 0 };
  }

  async failedOut(channel: string, limit: number): Promise<ChannelOutboxRow[]> {
    const text = `${outbox} WHERE channel = ? AND state = 'failed' ORDER BY id DESC LIMIT ?`;
    return (await this.#sql.all<StoredOut>(text, channel, limit)).map(fromStored);
  }

  async addOut(row: NewChannelOutboxRow): Promise<boolean> {
    const { channel, key, place, session, ask, kind, body, created_at } = row;
    const text = `INSERT INTO channel_outbox
      (channel, key, place, session, ask, kind, body, state, attempts, not_before, created_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting', 0, 0, ?) ON CONFLICT (channel, key) DO NOTHING`;
    const values = [channel, key, place, session, ask, kind, JSON.stringify(body), created_at];
    return (await this.#sql.run(text, ...values)) === 1;
  }

  async updateOut(id: number, change: OutChange): Promise<void> {
    const names = changeable.filter((name) => change[name] !== undefined);
    if (names.length === 0) return;
    const values = names.map((name): Value => change[name] ?? null);
    const text = `UPDATE channel_outbox SET ${names.map((name) => `${name} = ?`).join(", ")} WHERE id = ?`;
    await this.#sql.run(text, ...values, id);
  }

  async hurryOut(channel: string): Promise<void> {
    await this.#sql.run(`UPDATE channel_outbox SET not_before = 0 WHERE channel = ? AND ${unsent}`, channel);
  }

  async prune(before: number): Promise<void> {
    await this.#sql.run("DELETE FROM channel_inbox WHERE state = 'done' AND at < ?", before);
    await this.#sql.run("DELETE FROM channel_cursors WHERE name LIKE 'thread:%' AND at < ?", before);
    await this.#sql.run("DELETE FROM channel_outbox WHERE state IN ('sent', 'failed') AND settled_at < ?", before);
  }

  async peers(channel: string): Promise<ChannelPeer[]> {
    const text = "SELECT channel, peer, name, place, paired_at FROM channel_peers WHERE channel = ? ORDER BY paired_at";
    return this.#sql.all<ChannelPeer>(text, channel);
  }

  async peer(channel: string, peer: string): Promise<ChannelPeer | null> {
    const text = "SELECT channel, peer, name, place, paired_at FROM channel_peers WHERE channel = ? AND peer = ?";
    return (await this.#sql.get<ChannelPeer>(text, channel, peer)) ?? null;
  }

  async putPeer({ channel, peer, name, place, paired_at }: ChannelPeer): Promise<void> {
    const text = `INSERT INTO channel_peers (channel, peer, name, place, paired_at) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (channel, peer) DO UPDATE
      SET name = excluded.name, place = excluded.place, paired_at = excluded.paired_at`;
    await this.#sql.run(text, channel, peer, name, place, paired_at);
  }

  async removePeer(channel: string, peer: string): Promise<boolean> {
    return (await this.#sql.run("DELETE FROM channel_peers WHERE channel = ? AND peer = ?", channel, peer)) === 1;
  }

  async sessionAt(channel: string, place: string): Promise<SessionId | null> {
    const text = "SELECT session FROM channel_places WHERE channel = ? AND place = ?";
    return (await this.#sql.get<{ session: SessionId }>(text, channel, place))?.session ?? null;
  }

  async setSessionAt(channel: string, place: string, session: SessionId): Promise<void> {
    const text = `INSERT INTO channel_places (channel, place, session) VALUES (?, ?, ?)
      ON CONFLICT (channel, place) DO UPDATE SET session = excluded.session`;
    await this.#sql.run(text, channel, place, session);
  }

  async placesOf(channel: string, session: SessionId): Promise<string[]> {
    const text = "SELECT place FROM channel_routes WHERE channel = ? AND session = ? ORDER BY place";
    return (await this.#sql.all<{ place: string }>(text, channel, session)).map(({ place }) => place);
  }

  async addRoute(channel: string, session: SessionId, place: string): Promise<void> {
    const text = "INSERT INTO channel_routes (channel, session, place) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
    await this.#sql.run(text, channel, session, place);
  }

  async moveRoute(channel: string, session: SessionId, from: string, to: string): Promise<void> {
    const text = "DELETE FROM channel_routes WHERE channel = ? AND session = ? AND place = ?";
    await this.#sql.run(text, channel, session, from);
    await this.addRoute(channel, session, to);
  }

  async #one(where: string, ...values: Value[]): Promise<ChannelOutboxRow | null> {
    const stored = await this.#sql.get<StoredOut>(`${outbox} WHERE ${where} LIMIT 1`, ...values);
    return stored === undefined ? null : fromStored(stored);
  }
}

function fromStored(stored: StoredOut): ChannelOutboxRow {
  return { ...stored, body: JSON.parse(stored.body) as unknown };
}
