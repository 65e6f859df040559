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
import type { DatabaseFacts } from "@aegis/contract/api.ts";
import type { Event, EventType } from "@aegis/contract/event.ts";
import type { AskReads, AskTable } from "./ask-tables.ts";
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
import type { EventReads, EventTable, SeenReads, SeenTable } from "./event-tables.ts";
import type { BroadcastReads, BroadcastTable, GroupReads, GroupTable } from "./group-tables.ts";
import type { MessageReads, MessageTable } from "./message-tables.ts";
import type { NodeReads, NodeTable, StoreMembership } from "./node-tables.ts";
import type { QueueReads, QueueTable, TaskReads, TaskTable } from "./queue-tables.ts";
import type { ReceiptReads, ReceiptTable } from "./receipt-tables.ts";
import type { RunReads, RunTable, SignalReads, SignalTable, StepReads, StepTable } from "./run-tables.ts";
import type { FiringReads, FiringTable, ScheduleReads, ScheduleTable } from "./schedule-tables.ts";
import type { SessionReads, SessionTable } from "./session-tables.ts";
import type { PoolReads, PoolTable, SubagentReads, SubagentTable } from "./subagent-tables.ts";
import type { TurnReads, TurnTable } from "./turn-tables.ts";

export type * from "./ask-tables.ts";
export type * from "./blob-tables.ts";
export type * from "./channel-tables.ts";
export type * from "./client-tables.ts";
export type * from "./copy-tables.ts";
export type * from "./event-tables.ts";
export type * from "./group-tables.ts";
export type * from "./message-tables.ts";
export type * from "./node-tables.ts";
export type * from "./queue-tables.ts";
export type * from "./receipt-tables.ts";
export type * from "./run-tables.ts";
export type * from "./schedule-tables.ts";
export type * from "./session-tables.ts";
export type * from "./subagent-tables.ts";
export type * from "./turn-tables.ts";

export interface Store {
  readonly read: StoreReads;
  /**
   * Resolves when everything the unit wrote is on disk. Throws what the unit threw, with nothing written. Throws
   * `unavailable` or `storage_full` only once it is certain that nothing was written, so that the caller may try again.
   * A store may run a unit again before anything of it is stored, so a unit must change nothing but the store. Only the
   * result of the run that was stored reaches the caller.
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
