/** Broadcasts and what each member owes or gave. A group has at most one that is open. */
import { AegisError } from "../../contract/errors.ts";
import type { Broadcast, BroadcastMember } from "../../contract/group.ts";
import type { BroadcastId, GroupId, MessageId, SessionId } from "../../contract/ids.ts";
import type { Sender } from "../../contract/message.ts";
import type { BroadcastTable, ReplySettlement } from "../store.ts";
import type { Sql } from "./connection.ts";
import { onConstraint } from "./errors.ts";

/** As stored: the sender is JSON, members have a table of their own. */
type Stored = Omit<Broadcast, "sender" | "members"> & { sender: string };

const columns = `id, "group", sender, objective, output_format, tool_guidance, boundaries, created_at, settled_at`;
const select = `SELECT ${columns} FROM broadcasts`;
const insert = `INSERT INTO broadcasts (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const memberColumns = "session, handle, message, status, turn, error, arrival";
const selectMembers = `SELECT ${memberColumns} FROM broadcast_members WHERE broadcast = ? ORDER BY position`;
const insertMember = `INSERT INTO broadcast_members (broadcast, ${memberColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
const settleMember = `UPDATE broadcast_members SET status = ?, turn = ?, error = ?, arrival = ?
  WHERE broadcast = ? AND session = ? AND status = 'waiting'`;
const letOff = `SELECT messages.id FROM broadcast_members JOIN messages ON messages.id = broadcast_members.message
  WHERE broadcast_members.status = 'cancelled' AND messages.status = 'pending'`;

export class SqliteBroadcasts implements BroadcastTable {
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
    const text = "SELECT id FROM broadcasts WHERE settled_at IS NULL ORDER BY position";
    return this.#sql.all<{ id: BroadcastId }>(text).map((row) => row.id);
  }

  async waitingFor(session: SessionId): Promise<BroadcastId[]> {
    // The literal lets SQLite use the index of members that owe a reply.
    const text = "SELECT broadcast FROM broadcast_members WHERE session = ? AND status = 'waiting' ORDER BY position";
    return this.#sql.all<{ broadcast: BroadcastId }>(text, session).map((row) => row.broadcast);
  }

  async letOffPending(): Promise<MessageId[]> {
    return this.#sql.all<{ id: MessageId }>(letOff).map((row) => row.id);
  }

  async insert(broadcast: Broadcast): Promise<void> {
    const { id, group, sender, objective, output_format, tool_guidance, boundaries, created_at, settled_at } =
      broadcast;
    const brief = [objective, output_format, tool_guidance, boundaries];
    try {
      this.#sql.run(insert, id, group, JSON.stringify(sender), ...brief, created_at, settled_at);
      for (const { session, handle, message, status, turn, error, arrival } of broadcast.members)
        this.#sql.run(insertMember, id, session, handle, message, status, turn, error, arrival);
    } catch (error) {
      throw onConstraint(error, {
        unique: `the broadcast ${id} exists, or another of the group ${group} is open`,
        reference: `no group, session or message for the broadcast ${id}`,
      });
    }
  }

  async settleMember(id: BroadcastId, session: SessionId, settlement: ReplySettlement): Promise<void> {
    const { status, turn, error, arrival } = settlement;
    if (this.#sql.run(settleMember, status, turn, error, arrival, id, session).changes > 0) return;
    throw new AegisError("conflict", `the broadcast ${id} does not wait for ${session}`);
  }

  async moveMember(id: BroadcastId, session: SessionId, message: MessageId): Promise<void> {
    const text = "UPDATE broadcast_members SET message = ? WHERE broadcast = ? AND session = ? AND status = 'waiting'";
    if (this.#sql.run(text, message, id, session).changes > 0) return;
    throw new AegisError("conflict", `the broadcast ${id} does not wait for ${session}`);
  }

  async settle(id: BroadcastId, at: number): Promise<void> {
    const text = "UPDATE broadcasts SET settled_at = ? WHERE id = ? AND settled_at IS NULL";
    if (this.#sql.run(text, at, id).changes === 0) throw new AegisError("conflict", `no open broadcast ${id}`);
  }

  #one(where: string, value: string): Broadcast | null {
    const stored = this.#sql.get<Stored>(`${select} ${where}`, value);
    if (stored === undefined) return null;
    const members = this.#sql.all<BroadcastMember>(selectMembers, stored.id);
    return { ...stored, sender: JSON.parse(stored.sender) as Sender, members };
  }
}
