/** The tables of groups and their broadcasts, part of the store port. */
import type { Broadcast, Group, ReplyStatus } from "@aegis/contract/group.ts";
import type { BroadcastId, GroupId, MessageId, SessionId, TurnId } from "@aegis/contract/ids.ts";

export interface GroupReads {
  get(id: GroupId): Promise<Group | null>;
  /** The live group with this name. */
  byName(name: string): Promise<Group | null>;
  /** The live group with this name, else the most recently dissolved one. */
  newest(name: string): Promise<Group | null>;
  /** The group that the session joined. */
  ofSession(session: SessionId): Promise<Group | null>;
  /** Live groups, oldest first. */
  list(): Promise<Group[]>;
  /** In the order in which they joined, including closed sessions. */
  members(group: GroupId): Promise<SessionId[]>;
  /** Open sessions of dissolved groups. */
  leftOpen(): Promise<SessionId[]>;
}

export interface GroupTable extends GroupReads {
  /** Throws `conflict` if a live group has that name. */
  insert(group: Group): Promise<void>;
  addMember(group: GroupId, session: SessionId): Promise<void>;
  dissolve(id: GroupId, at: number): Promise<void>;
}

export interface BroadcastReads {
  get(id: BroadcastId): Promise<Broadcast | null>;
  /** The open broadcast of the group. */
  open(group: GroupId): Promise<Broadcast | null>;
  latest(group: GroupId): Promise<Broadcast | null>;
  /** Every open broadcast. */
  allOpen(): Promise<BroadcastId[]>;
  /** Broadcasts that wait for a reply of the session. */
  waitingFor(session: SessionId): Promise<BroadcastId[]>;
  /** Pending messages to members whose reply was cancelled. */
  letOffPending(): Promise<MessageId[]>;
}

export interface BroadcastTable extends BroadcastReads {
  /**
   * Inserts the broadcast and its members. Their messages must exist. Throws `conflict` if the group has an open
   * broadcast.
   */
  insert(broadcast: Broadcast): Promise<void>;
  /** Throws `conflict` if the member's reply is already settled. */
  settleMember(id: BroadcastId, session: SessionId, settlement: ReplySettlement): Promise<void>;
  /** The member's reply is now expected for another message. */
  moveMember(id: BroadcastId, session: SessionId, message: MessageId): Promise<void>;
  settle(id: BroadcastId, at: number): Promise<void>;
}

export type ReplySettlement = {
  status: Exclude<ReplyStatus, "waiting">;
  turn: TurnId | null;
  error: string | null;
  arrival: number;
};
