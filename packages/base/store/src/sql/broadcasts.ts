/** Broadcasts and the reply status of each member. A group has at most one open broadcast. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { Broadcast, BroadcastMember } from "@aegis/contract/group.ts";
import type { BroadcastId, GroupId, MessageId, SessionId } from "@aegis/contract/ids.ts";
import type { Sender } from "@aegis/contract/message.ts";
import type { BroadcastTable, ReplySettlement } from "../store.ts";
import { insertInto, insertRow, type Sql } from "./sql.ts";

/** As stored: the sender is JSON; members have their own table. */
type Stored = Omit<Broadcast, "sender" | "members"> & { sender: string };

const brief = ["objective", "output_format", "tool_guidance", "boundaries"] as const;
const columns = ["id", '"group"', "sender", ...brief, "created_at", "settled_at"];
const select = `SELECT ${columns.join(", ")} FROM broadcasts`;
const insert = insertInto("broadcasts", columns);
const memberColumns = ["session", "handle", "message", "status", "turn", "error", "arrival"] as const;
const selectMembers = `SELECT ${memberColumns.join(", ")} FROM broadcast_members WHERE broadcast = ? ORDER BY position`;
const insertMember = insertInto("broadcast_members", ["broadcast", ...memberColumns]);
const settleMember = `UPDATE broadcast_members SET status = ?, turn = ?, error = ?, arrival = ?
  WHERE broadcast = ? AND session = ? AND status = 'waiting'`;
const letOff = `SELECT messages.id FROM broadcast_members JOIN messages ON messages.id = broadcast_members.message
  WHERE broadcast_members.status = 'cancelled' AND messages.status = 'pending'`;

export class SqlBroadcasts implements BroadcastTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(id: BroadcastId): Promise<Broadcast | null> {
    return this.#one("WHERE id = ?", id);
  }

  async open(group: GroupId): Promise<Broadcast | null> {
    return this.#one(`WHERE "group" = ? AND settled_at IS NULL`, group);
  }

  async latest(group: GroupId): Promise<Broadcast | null> {
    return this.#one(`WHERE "group" = ? ORDER BY position DESC LIMIT 1`, group);
  }

  async allOpen(): Promise<BroadcastId[]> {
    const text = "SELECT id FROM broadcasts WHERE settled_at IS NULL ORDER BY +position";
    return (await this.#sql.all<{ id: BroadcastId }>(text)).map((row) => row.id);
  }

  async waitingFor(session: SessionId): Promise<BroadcastId[]> {
    // The literal lets SQLite use the partial index of waiting members.
    const text = "SELECT broadcast FROM broadcast_members WHERE session = ? AND status = 'waiting' ORDER BY position";
    return (await this.#sql.all<{ broadcast: BroadcastId }>(text, session)).map((row) => row.broadcast);
  }

  async letOffPending(): Promise<MessageId[]> {
    return (await this.#sql.all<{ id: MessageId }>(letOff)).map((row) => row.id);
  }

  async insert(broadcast: Broadcast): Promise<void> {
    const { id, group, created_at, settled_at } = broadcast;
    const texts = brief.map((column) => broadcast[column]);
    const meaning = {
      taken: `the broadcast ${id} exists, or another of the group ${group} is open`,
      reference: `no group, session or message for the broadcast ${id}`,
    };
    const values = [id, group, JSON.stringify(broadcast.sender), ...texts, created_at, settled_at];
    await insertRow(this.#sql, insert, values, meaning);
    for (const member of broadcast.members)
      await insertRow(this.#sql, insertMember, [id, ...memberColumns.map((column) => member[column])], meaning);
  }

  async settleMember(id: BroadcastId, session: SessionId, settlement: ReplySettlement): Promise<void> {
    const { status, turn, error, arrival } = settlement;
    if ((await this.#sql.run(settleMember, status, turn, error, arrival, id, session)) > 0) return;
    throw new AegisError("conflict", `the broadcast ${id} does not wait for ${session}`);
  }

  async moveMember(id: BroadcastId, session: SessionId, message: MessageId): Promise<void> {
    const text = "UPDATE broadcast_members SET message = ? WHERE broadcast = ? AND session = ? AND status = 'waiting'";
    if ((await this.#sql.run(text, message, id, session)) > 0) return;
    throw new AegisError("conflict", `the broadcast ${id} does not wait for ${session}`);
  }

  async settle(id: BroadcastId, at: number): Promise<void> {
    const text = "UPDATE broadcasts SET settled_at = ? WHERE id = ? AND settled_at IS NULL";
    if ((await this.#sql.run(text, at, id)) === 0) throw new AegisError("conflict", `no open broadcast ${id}`);
  }

  async #one(where: string, value: string): Promise<Broadcast | null> {
    const stored = await this.#sql.get<Stored>(`${select} ${where}`, value);
    if (stored === undefined) return null;
    const members = await this.#sql.all<BroadcastMember>(selectMembers, stored.id);
    return { ...stored, sender: JSON.parse(stored.sender) as Sender, members };
  }
}
