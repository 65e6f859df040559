/**
 * The store port. Asynchronous throughout: nothing above it may assume that the data is local.
 *
 * Reads outside a transaction see committed data only. A transaction awaits nothing but its own `tx`; several that
 * arrive together may share one commit, and each of them still fails or succeeds alone.
 */
import type { Ask, AskAnswer, AskStatus } from "../contract/ask.ts";
import type { Event, EventType, NewEvent } from "../contract/event.ts";
import type { AskId, MessageId, RunId, SessionId, TurnId } from "../contract/ids.ts";
import type { Message, MessageStatus } from "../contract/message.ts";
import type { Turn, TurnError, TurnReason, Usage } from "../contract/turn.ts";
import type { BroadcastReads, BroadcastTable, GroupReads, GroupTable } from "./group-tables.ts";
import type { QueueReads, QueueTable, TaskReads, TaskTable } from "./queue-tables.ts";
import type { RunReads, RunTable, SignalReads, SignalTable, StepReads, StepTable } from "./run-tables.ts";
import type { FiringReads, FiringTable, ScheduleReads, ScheduleTable } from "./schedule-tables.ts";
import type { SessionReads, SessionTable } from "./session-tables.ts";
import type { PoolReads, PoolTable, SubagentReads, SubagentTable } from "./subagent-tables.ts";

export type { BroadcastTable, GroupTable, ReplySettlement } from "./group-tables.ts";
export type {
  AttemptEnd,
  QueueReads,
  QueueRow,
  QueueTable,
  TaskCounts,
  TaskReads,
  TaskTable,
} from "./queue-tables.ts";
export type {
  RunEnd,
  RunFilter,
  RunReads,
  RunRow,
  RunTable,
  SignalReads,
  SignalRow,
  SignalTable,
  StepEnd,
  StepName,
  StepReads,
  StepRow,
  StepTable,
} from "./run-tables.ts";
export type {
  FiringEnd,
  FiringFilter,
  FiringTable,
  ScheduleRow,
  ScheduleTable,
} from "./schedule-tables.ts";
export type { ForkPoint, SessionReads, SessionRow, SessionTable } from "./session-tables.ts";
export type {
  AgentKey,
  PoolTable,
  SubagentEnd,
  SubagentRow,
  SubagentTable,
  TreeTotals,
} from "./subagent-tables.ts";

export interface Store {
  readonly read: StoreReads;
  /** Resolves when everything the unit wrote is on disk. Throws what the unit threw, with nothing written. */
  transact<T>(unit: (tx: StoreTx) => Promise<T>): Promise<T>;
  /** Calls back with the events of each commit, in order of `seq`, after they are durable. Returns its undo. */
  onCommit(listener: (events: readonly Event[]) => void): () => void;
  health(): Promise<StoreHealth>;
  close(): Promise<void>;
}

export type StoreHealth = { path: string; bytes: number; schema: number; writable: boolean; problems: string[] };

export type StoreReads = {
  readonly sessions: SessionReads;
  readonly messages: MessageReads;
  readonly turns: TurnReads;
  readonly events: EventReads;
  readonly seen: SeenReads;
  readonly asks: AskReads;
  readonly queues: QueueReads;
  readonly tasks: TaskReads;
  readonly groups: GroupReads;
  readonly broadcasts: BroadcastReads;
  readonly runs: RunReads;
  readonly steps: StepReads;
  readonly signals: SignalReads;
  readonly subagents: SubagentReads;
  readonly pool: PoolReads;
  readonly schedules: ScheduleReads;
  readonly firings: FiringReads;
};

export type StoreTx = {
  readonly sessions: SessionTable;
  readonly messages: MessageTable;
  readonly turns: TurnTable;
  readonly events: EventTable;
  readonly seen: SeenTable;
  readonly asks: AskTable;
  readonly queues: QueueTable;
  readonly tasks: TaskTable;
  readonly groups: GroupTable;
  readonly broadcasts: BroadcastTable;
  readonly runs: RunTable;
  readonly steps: StepTable;
  readonly signals: SignalTable;
  readonly subagents: SubagentTable;
  readonly pool: PoolTable;
  readonly schedules: ScheduleTable;
  readonly firings: FiringTable;
};

export interface MessageReads {
  get(id: MessageId): Promise<Message | null>;
  /** In order of admission. */
  list(session: SessionId, filter?: { status?: MessageStatus; limit?: number }): Promise<Message[]>;
  countPending(session: SessionId): Promise<number>;
  /** Sessions that have pending messages. */
  waiting(): Promise<SessionId[]>;
  /** Pending messages of each session that has any. */
  pendingBySession(): Promise<Map<SessionId, number>>;
  inTurn(turn: TurnId): Promise<Message[]>;
  /** Those of any of the turns, in order of admission. */
  inTurns(turns: readonly TurnId[]): Promise<Message[]>;
  /** The digest of what was sent, for a message whose body plugins changed. */
  sentAs(id: MessageId): Promise<string | null>;
}

export interface MessageTable extends MessageReads {
  /** `sentAs` is the digest of what was sent when the body is something else. */
  insert(message: Message, sentAs?: string | null): Promise<void>;
  setStatus(ids: readonly MessageId[], status: MessageStatus, turn: TurnId | null): Promise<void>;
}

/** A turn as stored. */
export type TurnRow = Turn & {
  /** The harness has recorded the prompt: after a crash it must not be sent again. */
  accepted: boolean;
};

export interface TurnReads {
  get(id: TurnId): Promise<TurnRow | null>;
  /** Newest first; with `until` those whose end came no later. */
  list(session: SessionId, limit: number, until?: number): Promise<TurnRow[]>;
  /** Turns without an end. */
  open(): Promise<TurnRow[]>;
  /** Ended turns of a session whose end came after `seq`. */
  countEndedAfter(session: SessionId, seq: number): Promise<number>;
}

export interface TurnTable extends TurnReads {
  insert(turn: TurnRow): Promise<void>;
  accept(id: TurnId): Promise<void>;
  /** What it has used so far: it counts towards budgets, and is kept when the turn is cut. */
  spend(id: TurnId, usage: Usage): Promise<void>;
  /** Throws `conflict` when the turn has ended before. */
  end(id: TurnId, end: TurnEnd): Promise<void>;
}

export type TurnEnd = {
  at: number;
  reason: TurnReason;
  error: TurnError | null;
  text: string;
  usage: Usage | null;
  /** The number of the event that recorded the end. */
  seq: number;
};

export type EventQuery = {
  after?: number;
  before?: number;
  session?: SessionId;
  /** Events of this queue and its tasks. */
  queue?: string;
  /** Events of this run. */
  run?: RunId;
  /** Events of this schedule and its firings. */
  schedule?: string;
  types?: readonly EventType[];
  limit: number;
  /** `newest` takes the newest `limit`; rows still come back in order of `seq`. */
  from?: "oldest" | "newest";
};

export interface EventReads {
  list(query: EventQuery): Promise<Event[]>;
  lastSeq(): Promise<number>;
}

export interface EventTable extends EventReads {
  /** Numbers the event. It is published when the transaction commits. */
  append(event: NewEvent, at: number): Promise<Event>;
}

export interface SeenReads {
  /** The number up to which the client has read; 0 when it never said. */
  get(client: string, session: SessionId): Promise<number>;
}

export interface SeenTable extends SeenReads {
  /** Never moves back. */
  set(client: string, session: SessionId, seq: number): Promise<void>;
}

export interface AskReads {
  get(id: AskId): Promise<Ask | null>;
  /** The newest `limit`, oldest first. */
  list(filter: { status?: AskStatus | undefined; limit: number }): Promise<Ask[]>;
  /** The ask about this very action that is open, or answered while nobody waited. */
  findUnused(session: SessionId, digest: string): Promise<Ask | null>;
  /** Whether the session was ever given this answer about the tool. */
  hasAnswer(session: SessionId, tool: string, choice: string): Promise<boolean>;
}

export interface AskTable extends AskReads {
  insert(ask: Ask): Promise<void>;
  /** Throws `conflict` when it is settled already. */
  settle(id: AskId, settlement: AskSettlement): Promise<void>;
  /** The answer has reached whoever asked: it counts for nothing else. */
  markUsed(id: AskId): Promise<void>;
}

export type AskSettlement = {
  status: Exclude<AskStatus, "open">;
  answer: AskAnswer | null;
  at: number;
  /** Somebody waits for it now. */
  used: boolean;
};
