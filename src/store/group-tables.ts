/** The tables of groups and their broadcasts, as part of the store port. */
import type { Broadcast, Group, ReplyStatus } from "../contract/group.ts";
import type { BroadcastId, GroupId, MessageId, SessionId, TurnId } from "../contract/ids.ts";

export interface GroupReads {
  get(id: GroupId): Promise<Group | null>;
  /** The one group alive under this name. */
  byName(name: string): Promise<Group | null>;
  /** The one alive under this name, else the one dissolved last. */
  newest(name: string): Promise<Group | null>;
  /** The group the session joined. */
  ofSession(session: SessionId): Promise<Group | null>;
  /** Those alive, oldest first. */
  list(): Promise<Group[]>;
  /** In the order they joined, closed ones too. */
  members(group: GroupId): Promise<SessionId[]>;
  /** Open sessions of groups that are dissolved. */
  leftOpen(): Promise<SessionId[]>;
}

export interface GroupTable extends GroupReads {
  /** Throws `conflict` when a live group has that name. */
  insert(group: Group): Promise<void>;
  addMember(group: GroupId, session: SessionId): Promise<void>;
  dissolve(id: GroupId, at: number): Promise<void>;
}

export interface BroadcastReads {
  get(id: BroadcastId): Promise<Broadcast | null>;
  /** The one broadcast of the group that is not settled. */
  open(group: GroupId): Promise<Broadcast | null>;
  latest(group: GroupId): Promise<Broadcast | null>;
  /** Every broadcast that is not settled. */
  allOpen(): Promise<BroadcastId[]>;
  /** Broadcasts that the session owes a reply. */
  waitingFor(session: SessionId): Promise<BroadcastId[]>;
  /** Waiting messages of members that were let off. */
  letOffPending(): Promise<MessageId[]>;
}

export interface BroadcastTable extends BroadcastReads {
  /** With its members, whose messages are there already. Throws `conflict` when the group has an open one. */
  insert(broadcast: Broadcast): Promise<void>;
  /** Throws `conflict` when the member owes nothing. */
  settleMember(id: BroadcastId, session: SessionId, settlement: ReplySettlement): Promise<void>;
  /** The member owes its reply to another message from now on. */
  moveMember(id: BroadcastId, session: SessionId, message: MessageId): Promise<void>;
  settle(id: BroadcastId, at: number): Promise<void>;
}

export type ReplySettlement = {
  status: Exclude<ReplyStatus, "waiting">;
  turn: TurnId | null;
  error: string | null;
  arrival: number;
};
