/**
 * A subagent is a session with a parent, one task and a depth. A pooled agent is a session kept for the next task of
 * its kind.
 */
import { z } from "zod";
import { agentSourceSchema } from "./agent.ts";
import { receiptViewSchema } from "./receipt.ts";
import { messageIdSchema, sessionIdSchema } from "./schema-ids.ts";

/** Identifies one spawn: twelve hexadecimal digits. A repeated call has the same id. */
export const subagentRunIdSchema = z.string().regex(/^[0-9a-f]{12}$/, "expected 12 hexadecimal digits");

export const subagentStatusSchema = z.enum(["running", "done", "error", "timeout", "killed"]);
export type SubagentStatus = z.infer<typeof subagentStatusSchema>;

/** `delete` closes the session when it ends and removes it from the list; `keep` does so after its time to live. */
export const cleanupSchema = z.enum(["delete", "keep"]);
export type Cleanup = z.infer<typeof cleanupSchema>;

export const subagentLabelMaxLength = 64;

export const subagentSchema = z.object({
  run_id: subagentRunIdSchema,
  session: sessionIdSchema,
  parent: sessionIdSchema,
  /** The root session of the tree, which is not a subagent. */
  root: sessionIdSchema,
  /** 1 for a child of the root. */
  depth: z.int(),
  agent: z.string(),
  /** Unique among the listed children of one parent. */
  label: z.string(),
  task: z.string(),
  model: z.string().nullable(),
  cleanup: cleanupSchema,
  status: subagentStatusSchema,
  /** The whole last assistant message, regardless of how the subagent ended. */
  result: z.string().nullable(),
  /** Why the status is not `done`. */
  error: z.string().nullable(),
  /** The timeout in seconds. */
  timeout: z.number(),
  /** When it ends as `timeout`. */
  deadline: z.number(),
  created_at: z.number(),
  ended_at: z.number().nullable(),
  /** When it was removed from the list; its history stays. */
  archived_at: z.number().nullable(),
  /** The session that was notified of the end; null if there was none. */
  announced_to: sessionIdSchema.nullable(),
  /** The notice that was sent; null if the session received the result as the answer to its own call. */
  announcement: messageIdSchema.nullable(),
});
export type Subagent = z.infer<typeof subagentSchema>;

export const subagentViewSchema = subagentSchema.extend({
  handle: z.string(),
  parent_handle: z.string(),
  /** The last run of its check. */
  receipt: receiptViewSchema.nullable().default(null),
  /** True if it is done and its check passed on the present files. */
  verified: z.boolean().default(false),
});
export type SubagentView = z.infer<typeof subagentViewSchema>;

/** A pooled agent and the tasks it did for one session. */
export const pooledWorkSchema = z.object({
  session: sessionIdSchema,
  handle: z.string(),
  agent: z.string(),
  /** The session that it worked for. */
  holder: sessionIdSchema,
  /** `busy` while the holder has it; `closed` after it has left the pool. */
  state: z.enum(["busy", "idle", "closed"]),
  /** The number of tasks and questions it received. */
  tasks: z.int(),
  first_at: z.number(),
  last_at: z.number(),
});
export type PooledWork = z.infer<typeof pooledWorkSchema>;

/** Everything that worked below one root session, and for it in the pool. */
export const treeSchema = z.object({
  root: sessionIdSchema,
  handle: z.string(),
  /** When the root was closed; the totals stay. */
  closed_at: z.number().nullable(),
  live: z.int(),
  /** All sessions that were ever started. */
  spawned: z.int(),
  /** What `subagents.budget.spawns` limits: work that is unfinished or began in the last 24 hours. */
  recent: z.int(),
  output_tokens: z.number(),
  /** Known cost in US dollars. */
  cost: z.number(),
  /** The number of turns with unknown cost. */
  untold: z.int(),
  pooled: z.array(pooledWorkSchema),
});
export type Tree = z.infer<typeof treeSchema>;

/** The budget of a tree; null means no limit. */
export const treeBudgetSchema = z.object({
  agents: z.number(),
  spawns: z.number(),
  minutes: z.number().nullable(),
  output_tokens: z.number().nullable(),
  usd: z.number().nullable(),
});
export type TreeBudgetView = z.infer<typeof treeBudgetSchema>;

export const killOutcomeSchema = z.object({
  run_id: subagentRunIdSchema,
  status: subagentStatusSchema,
  /** How many subagents ended, including itself; 0 if it had ended before. */
  killed: z.int(),
});
export type KillOutcome = z.infer<typeof killOutcomeSchema>;

export const leaseSchema = z.object({ id: z.string(), holder: sessionIdSchema, since: z.number() });
export type Lease = z.infer<typeof leaseSchema>;

export const pooledAgentSchema = z.object({
  /** The pooled session; `agent_ask` takes it as `agent_id`. */
  session: sessionIdSchema,
  /** For display. Two agents may have the same key; matching uses the four fields below. */
  key: z.string(),
  source: agentSourceSchema,
  plugin: z.string().nullable(),
  slug: z.string(),
  config_hash: z.string(),
  uses: z.int(),
  created_at: z.number(),
  last_used_at: z.number(),
  lease: leaseSchema.nullable(),
});
export type PooledAgent = z.infer<typeof pooledAgentSchema>;

export const pooledAgentViewSchema = pooledAgentSchema.extend({
  handle: z.string(),
  state: z.enum(["idle", "busy"]),
  /** True if its agent's definition changed: it receives no more tasks. */
  stale: z.boolean(),
});
export type PooledAgentView = z.infer<typeof pooledAgentViewSchema>;
