/**
 * The store port. Asynchronous throughout: nothing above it may assume that the data is local.
 *
 * Reads outside a transaction see committed data only. A transaction awaits nothing but its own `tx`; several that
 * arrive together may share one commit, and each of them still fails or succeeds alone. Transactions are serial: while
 * one runs, no other transaction changes what it reads. Each gets its first answer when all earlier ones have ended.
 *
 * A unit may catch `conflict` or `not_found` and continue. After any other error of a write it cannot commit, even if
 * it catches the error.
 */
import type { DatabaseFacts } from "../contract/api.ts";
import type { Ask, AskAnswer, AskStatus } from "../contract/ask.ts";
import type { Event, EventType, NewEvent } from "../contract/event.ts";
import type { AskId, MessageId, RunId, SessionId, TurnId } from "../contract/ids.ts";
import type { Message, MessageStatus } from "../contract/message.ts";
import type { NeedsYou } from "../contract/session.ts";
import type { Turn, TurnError, TurnReason, Usage, UsageTotal } from "../contract/turn.ts";
import type { UsagePoint, UsageSums } from "../contract/usage.ts";
import type { UsageGrouping } from "../contract/usage-names.ts";
import type { BlobReads, BlobTable } from "./blob-tables.ts";
import type { ChannelReads, ChannelTable } from "./channel-tables.ts";
import type { ClientReads, ClientTable } from "./client-tables.ts";
import type {
  BoundaryReads,
  BoundaryTable,
  FileWriteReads,
  FileWriteTable,
  LandingReads,
  LandingTable,
  WorktreeReads,
  WorktreeTable,
} from "./copy-tables.ts";
import type { BroadcastReads, BroadcastTable, GroupReads, GroupTable } from "./group-tables.ts";
import type { NodeReads, NodeTable, StoreMembership } from "./node-tables.ts";
import type { QueueReads, QueueTable, TaskReads, TaskTable } from "./queue-tables.ts";
import type { ReceiptReads, ReceiptTable } from "./receipt-tables.ts";
import type { RunReads, RunTable, SignalReads, SignalTable, StepReads, StepTable } from "./run-tables.ts";
import type { FiringReads, FiringTable, ScheduleReads, ScheduleTable } from "./schedule-tables.ts";
import type { SessionReads, SessionTable } from "./session-tables.ts";
import type { PoolReads, PoolTable, SubagentReads, SubagentTable } from "./subagent-tables.ts";

export type {
  ChannelInboxRow,
  ChannelOutboxCounts,
  ChannelOutboxRow,
  ChannelPeer,
  ChannelReads,
  ChannelTable,
  NewChannelOutboxRow,
} from "./channel-tables.ts";
export type { ClientReads, ClientRow, ClientTable } from "./client-tables.ts";
export type {
  BoundaryDetail,
  BoundaryRow,
  BoundaryTable,
  FileWriteRow,
  FileWriteTable,
  LandingTable,
  WorktreeReads,
  WorktreeTable,
} from "./copy-tables.ts";
export type { BroadcastTable, GroupTable, ReplySettlement } from "./group-tables.ts";
export type { CommandRow, NodeReads, NodeRow, NodeTable, StoreMembership } from "./node-tables.ts";
export type {
  AttemptEnd,
  QueueReads,
  QueueRow,
  QueueTable,
  TaskCounts,
  TaskReads,
  TaskTable,
} from "./queue-tables.ts";
export type { ReceiptReads, ReceiptRow, ReceiptTable } from "./receipt-tables.ts";
export type {
  RunEnd,
  RunFilter,
  RunRow,
  RunTable,
  SignalRow,
  SignalTable,
  StepEnd,
  StepName,
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
  /**
   * Resolves when everything the unit wrote is on disk. Throws what the unit threw, with nothing written. Throws
   * `unavailable` or `storage_full` only once it is certain that nothing was written, so that the caller may try again.
   * A store never runs a unit twice.
   */
  transact<T>(unit: (tx: StoreTx) => Promise<T>): Promise<T>;
  /**
   * Calls the listener with the events of each commit of any writer, in order of `seq` and without gaps, after they are
   * durable. Events of a commit of this store come before its `transact` resolves. `types` and `from` limit the events
   * that it gets. While `whileAny`, what it waits for, is empty, it is not called. Returns its undo.
   */
  onCommit(listener: CommitListener, types?: readonly EventType[], from?: Writers, whileAny?: Sized): () => void;
  /** The membership of this process in a cluster. Absent for a store with one process. */
  readonly membership?: StoreMembership;
  health(): Promise<StoreHealth>;
  close(): Promise<void>;
}

export type Sized = { readonly size: number };
/** Whose events a listener gets. All events of an embedded store are its own. */
export type Writers = "all" | "own" | "others";

export type CommitListener = (events: readonly Event[]) => void;

/** A database that held this project's sessions and is gone from its place. */
export type StoreLoss = {
  at: number;
  kind: "damaged" | "emptied" | "missing";
  /** What was found wrong with it. */
  reason: string | null;
  /** The name it has now, in the same folder. */
  set_aside: string | null;
};

/** `path` is the file or the server that holds the data. */
export type StoreHealth = {
  path: string;
  bytes: number;
  schema: number;
  writable: boolean;
  problems: string[];
  /** Absent for an embedded database, and while the server does not answer. */
  database?: DatabaseFacts;
};

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
  readonly boundaries: BoundaryReads;
  readonly worktrees: WorktreeReads;
  readonly clients: ClientReads;
  readonly landings: LandingReads;
  readonly receipts: ReceiptReads;
  readonly channels: ChannelReads;
  readonly fileWrites: FileWriteReads;
  readonly nodes: NodeReads;
  readonly blobs: BlobReads;
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
  readonly boundaries: BoundaryTable;
  readonly worktrees: WorktreeTable;
  readonly clients: ClientTable;
  readonly landings: LandingTable;
  readonly receipts: ReceiptTable;
  readonly channels: ChannelTable;
  readonly fileWrites: FileWriteTable;
  readonly nodes: NodeTable;
  readonly blobs: BlobTable;
};

export type MessageFilter = {
  status?: MessageStatus;
  /** Only messages that were admitted before this one. */
  before?: MessageId;
  limit?: number;
  /** Which end `limit` keeps; default: the oldest. */
  from?: "oldest" | "newest";
};

interface MessageReads {
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

/** A turn as stored. */
export type TurnRow = Turn & {
  /** The harness has recorded the prompt: after a crash it must not be sent again. */
  accepted: boolean;
  /** Each time that its messages were handed over to a harness, also by the turns before it that were cut. */
  handed_over: readonly HandOver[];
};

/** A prompt that was about to be written to a harness. */
export type HandOver = {
  turn: TurnId;
  key: string;
  /** Identifies the prompt's text without holding it. Empty in state of a version that did not record it. */
  print: string;
  /** What the harness called the conversation. */
  conversation: string | null;
  /** The message, if it joined a running turn. Absent for the messages that the turn started with. */
  joined?: MessageId;
};

export interface TurnReads {
  get(id: TurnId): Promise<TurnRow | null>;
  /** Newest first; with `until` those whose end came no later. */
  list(session: SessionId, limit: number, until?: number): Promise<TurnRow[]>;
  /** The newest turn that had started at that time. */
  lastStarted(session: SessionId, at: number): Promise<TurnRow | null>;
  /** Turns without an end; with `node` those of sessions of that node. */
  open(node?: string | null): Promise<TurnRow[]>;
  /** Ended turns of a session whose end came after `seq`. */
  countEndedAfter(session: SessionId, seq: number): Promise<number>;
  /** The recorded usage of one session's turns, or of the turns of every open session; null when there is none. */
  usage(session?: SessionId): Promise<UsageTotal | null>;
  /** Sums of turns by the time of their start. */
  spent(query: SpentQuery): Promise<Spent>;
}

export type SpentQuery = {
  by: UsageGrouping;
  /** The first moment, and the first one after. */
  from: number;
  to: number;
  bucketMs: number;
  /** Added to each time before it is divided into buckets. */
  offsetMs: number;
  /** The most groups. */
  limit: number;
};

export type SpentRow = UsagePoint & { key: string | null };

export type Spent = {
  /** The highest cost first. */
  groups: (UsageSums & { key: string | null })[];
  /** The buckets of these groups, oldest first. */
  points: SpentRow[];
  /** The buckets of all groups together. */
  all: UsagePoint[];
};

export interface TurnTable extends TurnReads {
  insert(turn: TurnRow): Promise<void>;
  accept(id: TurnId): Promise<void>;
  /** Replaces what is stored. Throws `conflict` when the turn has ended. */
  handOver(id: TurnId, handed: readonly HandOver[]): Promise<void>;
  /** What it has used so far: it counts towards budgets, and is kept when the turn is cut. */
  spend(id: TurnId, usage: Usage): Promise<void>;
  /** What the agent has said so far, kept when the turn is cut. Changes nothing once the turn has ended. */
  say(id: TurnId, text: string): Promise<void>;
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
  /**
   * Numbers the event after all events that exist; numbers have no gaps. It is published when the transaction commits.
   */
  append(event: NewEvent, at: number): Promise<Event>;
}

interface SeenReads {
  /** The number up to which the client has read; 0 when it never said. */
  get(client: string, session: SessionId): Promise<number>;
}

export interface SeenTable extends SeenReads {
  /** Never moves back. */
  set(client: string, session: SessionId, seq: number): Promise<void>;
}

interface AskReads {
  get(id: AskId): Promise<Ask | null>;
  /** The newest `limit`, oldest first. */
  list(filter: { status?: AskStatus | undefined; limit: number }): Promise<Ask[]>;
  /** The ask about this action that is open, or was answered while no caller waited. */
  findUnused(session: SessionId, digest: string): Promise<Ask | null>;
  /** Whether the session was ever given this answer about the tool; for a gate, when it asked for this very reason. */
  hasAnswer(
    about: { session: SessionId; tool: string; gate: boolean; reason: string | null },
    choice: string,
  ): Promise<boolean>;
  /** Sessions with open asks. */
  openBySession(): Promise<Map<SessionId, NeedsYou>>;
}

export interface AskTable extends AskReads {
  insert(ask: Ask): Promise<void>;
  /** Throws `conflict` when it is settled already. */
  settle(id: AskId, settlement: AskSettlement): Promise<void>;
  /** The asking session has received the answer, so it applies to nothing else. */
  markUsed(id: AskId): Promise<void>;
  /** The answer of a settled ask, without its secrets. */
  replaceAnswer(id: AskId, answer: AskAnswer): Promise<void>;
}

export type AskSettlement = {
  status: Exclude<AskStatus, "open">;
  answer: AskAnswer | null;
  at: number;
  /** The asking session has received it. */
  used: boolean;
  by: string | null;
  reason: string | null;
};
