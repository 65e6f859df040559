/** What is stored of subagents and the pool; a part of the store port. */
import type { MessageId, SessionId } from "../contract/ids.ts";
import type { Lease, PooledAgent, Subagent, SubagentStatus, Tree } from "../contract/subagent.ts";
import type { SessionRow } from "./session-tables.ts";

/** A subagent as stored: what clients see, and the chain of causes it belongs to. */
export type SubagentRow = Subagent & { chain: MessageId | null; hops: number };

/** How many subagents there are and were below one root; pooled agents that work for the tree are live too. */
export type TreeTotals = { live: number; spawned: number };

/** What the subagents below one root, and pooled agents for them or the root, have used up. */
export type TreeSpending = Pick<Tree, "output_tokens" | "cost" | "untold">;

export interface SubagentReads {
  get(runId: string): Promise<SubagentRow | null>;
  ofSession(session: SessionId): Promise<SubagentRow | null>;
  /** Oldest first; archived ones only when asked for. */
  list(filter: {
    status?: SubagentStatus | undefined;
    archived: boolean;
    parent?: SessionId | undefined;
    limit: number;
  }): Promise<SubagentRow[]>;
  /** Everyone below a session, nearest first; archived ones too. */
  below(session: SessionId): Promise<SubagentRow[]>;
  /** Those under way, nearest to their root first. */
  running(): Promise<SubagentRow[]>;
  countRunning(parent: SessionId): Promise<number>;
  totals(root: SessionId): Promise<TreeTotals>;
  /** `free` is a harness whose turns cost nothing although they do not say so. */
  spending(root: SessionId, free: string): Promise<TreeSpending>;
  /** Open sessions, neither subagents nor pooled, that ever had a subagent or a pooled agent; oldest first. */
  roots(): Promise<Pick<SessionRow, "id" | "handle">[]>;
  /** Labels that begin so, of the children that are not archived. */
  labels(parent: SessionId, prefix: string): Promise<string[]>;
  /** Ended ones whose announcement still waits for the session's next turn. */
  undelivered(session: SessionId): Promise<SubagentRow[]>;
  /** Ended ones whose announcement was refused or lost. */
  unheard(): Promise<SubagentRow[]>;
  /** Ended before that time and not archived. */
  expired(before: number): Promise<SubagentRow[]>;
}

export interface SubagentTable extends SubagentReads {
  insert(row: SubagentRow): Promise<void>;
  /** Throws `conflict` when it is not running. */
  end(runId: string, end: SubagentEnd): Promise<void>;
  /** Who is told of the end. */
  announce(runId: string, to: Pick<Subagent, "announced_to" | "announcement">): Promise<void>;
  archive(runId: string, at: number): Promise<void>;
}

export type SubagentEnd = Pick<Subagent, "result" | "error"> & {
  status: Exclude<SubagentStatus, "running">;
  at: number;
};

export type AgentKey = Pick<PooledAgent, "source" | "plugin" | "slug" | "config_hash">;

/** Rows of sessions that are closed do not count anywhere here. */
export interface PoolReads {
  get(session: SessionId): Promise<PooledAgent | null>;
  /** The last used first. */
  list(): Promise<PooledAgent[]>;
  /** Those of the very agent that nobody holds and that have nothing to do, the last used first. */
  idle(key: AgentKey): Promise<PooledAgent[]>;
  /** Everyone whom nobody holds and who has nothing to do, the longest unused first. */
  idleForLongest(): Promise<PooledAgent[]>;
  count(): Promise<number>;
  /** Whether the session ever got a task from that one. */
  wasUsedBy(session: SessionId, caller: SessionId): Promise<boolean>;
}

export interface PoolTable extends PoolReads {
  insert(row: PooledAgent): Promise<void>;
  /** Throws `conflict` when somebody holds it. */
  lease(session: SessionId, lease: Lease): Promise<void>;
  /** False when that lease is over already. */
  release(session: SessionId, lease: string, at: number): Promise<boolean>;
  /** Ends every lease. Gives the sessions that were held. */
  releaseAll(): Promise<SessionId[]>;
}
