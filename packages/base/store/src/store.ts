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
import type { StoreReads, StoreTx } from "./tables.ts";

export type * from "./tables/asks.ts";
export type * from "./tables/blobs.ts";
export type * from "./tables/boundaries.ts";
export type * from "./tables/broadcasts.ts";
export type * from "./tables/channels.ts";
export type * from "./tables/clients.ts";
export type * from "./tables/events.ts";
export type * from "./tables/file-writes.ts";
export type * from "./tables/firings.ts";
export type * from "./tables/groups.ts";
export type * from "./tables/landings.ts";
export type * from "./tables/messages.ts";
export type * from "./tables/nodes.ts";
export type * from "./tables/pool.ts";
export type * from "./tables/queues.ts";
export type * from "./tables/receipts.ts";
export type * from "./tables/runs.ts";
export type * from "./tables/schedules.ts";
export type * from "./tables/seen.ts";
export type * from "./tables/sessions.ts";
export type * from "./tables/signals.ts";
export type * from "./tables/steps.ts";
export type * from "./tables/subagents.ts";
export type * from "./tables/tasks.ts";
export type * from "./tables/turns.ts";
export type * from "./tables/usage.ts";
export type * from "./tables/worktrees.ts";
export type { StoreReads, StoreTx } from "./tables.ts";

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
  onCommit(listener: CommitListener, types?: readonly EventType[], from?: Writers, whileAny?: WithSize): () => void;
  /** The membership of this process in a cluster. Absent for a store with one process. */
  readonly membership?: StoreMembership;
  health(): Promise<StoreHealth>;
  close(): Promise<void>;
}

export type WithSize = { readonly size: number };
/** Whose events a listener gets. All events of an embedded store are its own. */
export type Writers = "all" | "own" | "others";

export type CommitListener = (events: readonly Event[]) => void;

/** A database that held this project's sessions and is gone from its place, or has lost its newest commits. */
export type StoreLoss = {
  at: number;
  kind: "damaged" | "emptied" | "missing" | "behind";
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

/** The lease of this process in the database. After it is lost, the store refuses every write. */
export interface StoreMembership {
  readonly node: string;
  readonly incarnation: number;
  /** The time of the database's clock, which all nodes share. Sends no statement: it is as exact as the last renewal was quick. */
  now(): number;
  /** Renews the lease. Resolves with false if another node has taken over. Rejects if the database cannot be reached. */
  renew(): Promise<boolean>;
  /** Ends the lease now, so that other nodes take over without waiting. */
  leave(): Promise<void>;
  /** Refuses every write from now on. */
  fence(): void;
  /** Calls the listener when a write was refused because another node has taken over. Returns its undo. */
  onFenced(listener: () => void): () => void;
  /** Sends texts to every node, including this one, outside a transaction. They may be lost. */
  say(texts: readonly string[]): Promise<void>;
  /** Calls the listener with each text that a node sent (`say` and `tx.nodes.tell`). Texts may be lost. Returns its undo. */
  onHint(listener: (hint: string) => void): () => void;
}
