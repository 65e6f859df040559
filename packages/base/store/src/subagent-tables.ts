/** The tables of subagents and the pool, part of the store port. */
import type { MessageId, SessionId } from "@aegis/contract/ids.ts";
import type { Lease, PooledAgent, PooledWork, Subagent, SubagentStatus, Tree } from "@aegis/contract/subagent.ts";
import type { SessionRow } from "./session-tables.ts";

/** A subagent as stored: the fields that clients see, and its causal chain. */
export type SubagentRow = Subagent & { chain: MessageId | null; hops: number };

/**
 * The number of sessions below one root, however they were started. A subagent is live while it runs, a pooled agent
 * while a session of the tree holds it, and any other session until it is closed. `waiting` counts tasks that have no
 * worker yet.
 */
export type TreeTotals = { live: number; spawned: number; waiting: number };

/** The usage of the sessions below one root, and of pooled agents that worked for them or the root. */
export type TreeSpending = Pick<Tree, "output_tokens" | "cost" | "untold">;

export interface SubagentReads {
  get(runId: string): Promise<SubagentRow | null>;
  ofSession(session: SessionId): Promise<SubagentRow | null>;
  /** The subagent whose end this message announces. */
  announcedBy(message: MessageId): Promise<SubagentRow | null>;
  /** Oldest first; archived subagents only on request. */
  list(filter: {
    status?: SubagentStatus | undefined;
    archived: boolean;
    parent?: SessionId | undefined;
    limit: number;
  }): Promise<SubagentRow[]>;
  /** All subagents below a session, nearest first, including archived ones. */
  below(session: SessionId): Promise<SubagentRow[]>;
  /** Running subagents, nearest to their root first. */
  running(node?: string | null): Promise<SubagentRow[]>;
  countRunning(parent: SessionId): Promise<number>;
  /** The number of live sessions that the session started, by any means, and of pooled agents that it holds. */
  children(starter: SessionId): Promise<number>;
  totals(root: SessionId): Promise<TreeTotals>;
  /** `free` names a harness whose turns cost nothing although it reports no cost. */
  spending(root: SessionId, free: string): Promise<TreeSpending>;
  /**
   * Root sessions that ever started a session or used a pooled agent: all open ones, oldest first, then up to `closed`
   * closed ones, most recently closed first.
   */
  roots(closed: number): Promise<Pick<SessionRow, "id" | "handle" | "closed_at">[]>;
  /** The pooled agents that worked for the sessions of a tree, one entry per session, ordered by first task. */
  pooled(root: SessionId): Promise<PooledWork[]>;
  /** Labels with this prefix among the children that are not archived. */
  labels(parent: SessionId, prefix: string): Promise<string[]>;
  /** Ended subagents whose announcement still waits for the session's next turn. */
  undelivered(session: SessionId): Promise<SubagentRow[]>;
  /** Ended subagents whose announcement was refused or lost. */
  unheard(): Promise<SubagentRow[]>;
  /** Subagents that ended before that time and are not archived. */
  expired(before: number): Promise<SubagentRow[]>;
}

export interface SubagentTable extends SubagentReads {
  insert(row: SubagentRow): Promise<void>;
  /** Throws `conflict` if it is not running. */
  end(runId: string, end: SubagentEnd): Promise<void>;
  /** Records who is notified of the end. */
  announce(runId: string, to: Pick<Subagent, "announced_to" | "announcement">): Promise<void>;
  archive(runId: string, at: number): Promise<void>;
}

export type SubagentEnd = Pick<Subagent, "result" | "error"> & {
  status: Exclude<SubagentStatus, "running">;
  at: number;
};

export type AgentKey = Pick<PooledAgent, "source" | "plugin" | "slug" | "config_hash">;

/** Rows of closed sessions are ignored everywhere here. */
export interface PoolReads {
  get(session: SessionId): Promise<PooledAgent | null>;
  /** Most recently used first. */
  list(): Promise<PooledAgent[]>;
  /** Idle sessions of exactly this agent without a lease, most recently used first. */
  idle(key: AgentKey): Promise<PooledAgent[]>;
  /** All idle sessions without a lease, least recently used first. */
  idleForLongest(): Promise<PooledAgent[]>;
  count(): Promise<number>;
  /** Returns whether the session ever received a task from the caller. */
  wasUsedBy(session: SessionId, caller: SessionId): Promise<boolean>;
}

export interface PoolTable extends PoolReads {
  insert(row: PooledAgent): Promise<void>;
  /** Throws `conflict` if it is already leased. */
  lease(session: SessionId, lease: Lease): Promise<void>;
  /** Returns false if that lease has already ended. */
  release(session: SessionId, lease: string, at: number): Promise<boolean>;
  /** Ends every lease, or those of holders on one node. Returns the sessions that were held. */
  releaseAll(node?: string | null): Promise<SessionId[]>;
}
