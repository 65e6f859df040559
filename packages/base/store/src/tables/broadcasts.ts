/** Broadcasts and the reply status of each member. A group has at most one open broadcast. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { Broadcast, BroadcastMember, ReplyStatus } from "@aegis/contract/group.ts";
import type { BroadcastId, GroupId, MessageId, SessionId, TurnId } from "@aegis/contract/ids.ts";
import { currentSender } from "../sql/old-senders.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";

export type ReplySettlement = {
  status: Exclude<ReplyStatus, "waiting">;
  turn: TurnId | null;
  error: string | null;
  arrival: number;
};

/** A repeated request is compared with the brief. */
const table = new Table<Omit<Broadcast, "members">>(
  "broadcasts",
  {
    id: "plain",
    group: "plain",
    sender: "json name",
    objective: "whole",
    output_format: "whole",
    tool_guidance: "whole",
    boundaries: "whole",
    created_at: "plain",
    settled_at: "plain",
  },
  { readers: { sender: currentSender } },
);
const members = new Table<BroadcastMember, { broadcast: BroadcastId }>(
  "broadcast_members",
  {
    session: "plain",
    handle: "name",
    message: "plain",
    status: "plain",
    turn: "plain",
    error: "text",
    arrival: "plain",
  },
  { hidden: { broadcast: "plain" } },
);

const letOff = `SELECT messages.id FROM broadcast_members JOIN messages ON messages.id = broadcast_members.message
  WHERE broadcast_members.status = 'cancelled' AND messages.status = 'pending'`;

export class BroadcastReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  get(id: BroadcastId): Promise<Broadcast | null> {
    return this.#one("WHERE id = ?", id);
  }

  /** The open broadcast of the group. */
  open(group: GroupId): Promise<Broadcast | null> {
    return this.#one(`WHERE "group" = ? AND settled_at IS NULL`, group);
  }

  latest(group: GroupId): Promise<Broadcast | null> {
    return this.#one(`WHERE "group" = ? ORDER BY position DESC LIMIT 1`, group);
  }

  /** Every open broadcast. */
  async allOpen(): Promise<BroadcastId[]> {
    const text = "SELECT id FROM broadcasts WHERE settled_at IS NULL ORDER BY +position";
    return (await this.sql.all<{ id: BroadcastId }>(text)).map((row) => row.id);
  }

  /** Broadcasts that wait for a reply of the session. */
  async waitingFor(session: SessionId): Promise<BroadcastId[]> {
    // The literal lets SQLite use the partial index of waiting members.
    const text = "SELECT broadcast FROM broadcast_members WHERE session = ? AND status = 'waiting' ORDER BY position";
    return (await this.sql.all<{ broadcast: BroadcastId }>(text, session)).map((row) => row.broadcast);
  }

  /** Pending messages to members whose reply was cancelled. */
  async letOffPending(): Promise<MessageId[]> {
    return (await this.sql.all<{ id: MessageId }>(letOff)).map((row) => row.id);
  }

  async #one(where: string, value: string): Promise<Broadcast | null> {
    const row = await table.one(this.sql, where, value);
    if (row === null) return null;
    return { ...row, members: await members.all(this.sql, "WHERE broadcast = ? ORDER BY position", row.id) };
  }
}

export class BroadcastWrites extends BroadcastReads<RowWriter> {
  /**
   * Inserts the broadcast and its members. Their messages must exist. Throws `conflict` if the group has an open
   * broadcast.
   */
  async insert(broadcast: Broadcast): Promise<void> {
    const { id, group } = broadcast;
    const meaning = {
      taken: `the broadcast ${id} exists, or another of the group ${group} is open`,
      reference: `no group, session or message for the broadcast ${id}`,
    };
    await this.sql.insert(table, broadcast, meaning);
    for (const member of broadcast.members) await this.sql.insert(members, { ...member, broadcast: id }, meaning);
  }

  /** Throws `conflict` if the member's reply is already settled. */
  settleMember(id: BroadcastId, session: SessionId, settlement: ReplySettlement): Promise<void> {
    return this.#changeWaiting(id, session, settlement);
  }

  /** The member's reply is now expected for another message. */
  moveMember(id: BroadcastId, session: SessionId, message: MessageId): Promise<void> {
    return this.#changeWaiting(id, session, { message });
  }

  async settle(id: BroadcastId, at: number): Promise<void> {
    if (!(await this.sql.update(table, { settled_at: at }, ["id = ? AND settled_at IS NULL", id])))
      throw new AegisError("conflict", `no open broadcast ${id}`);
  }

  async #changeWaiting(id: BroadcastId, session: SessionId, change: Partial<BroadcastMember>): Promise<void> {
    const where = "broadcast = ? AND session = ? AND status = 'waiting'";
    if (!(await this.sql.update(members, change, [where, id, session])))
      throw new AegisError("conflict", `the broadcast ${id} does not wait for ${session}`);
  }
}
