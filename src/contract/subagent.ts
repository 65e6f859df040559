/** A subagent is a session with a parent and a depth; a pooled agent is a session kept for the next task of its kind. */
import { z } from "zod";
import { agentSourceSchema } from "./agent.ts";
import { messageIdSchema, sessionIdSchema } from "./schema-ids.ts";

/** Names one spawn: twelve hexadecimal digits, the same for a call that is repeated. */
export const subagentRunIdSchema = z.string().regex(/^[0-9a-f]{12}$/, "expected 12 hexadecimal digits");

export const subagentStatusSchema = z.enum(["running", "done", "error", "timeout", "killed"]);
export type SubagentStatus = z.infer<typeof subagentStatusSchema>;

/** `delete` closes the session with its end and takes it off the list; `keep` does so when its time to live is over. */
export const cleanupSchema = z.enum(["delete", "keep"]);
export type Cleanup = z.infer<typeof cleanupSchema>;

export const subagentLabelMaxLength = 64;

export const subagentSchema = z.object({
  run_id: subagentRunIdSchema,
  session: sessionIdSchema,
  parent: sessionIdSchema,
  /** The session at the top of the tree, which is no subagent. */
  root: sessionIdSchema,
  /** 1 for a child of the root. */
  depth: z.number().int(),
  agent: z.string(),
  /** No two children of one parent that are still listed share one. */
  label: z.string(),
  task: z.string(),
  model: z.string().nullable(),
  cleanup: cleanupSchema,
  status: subagentStatusSchema,
  /** The whole last assistant message, however it ended. */
  result: z.string().nullable(),
  /** Why the status is not `done`. */
  error: z.string().nullable(),
  /** Seconds it was given. */
  timeout: z.number(),
  /** When it ends as `timeout`. */
  deadline: z.number(),
  created_at: z.number(),
  ended_at: z.number().nullable(),
  /** Off the list; its history stays. */
  archived_at: z.number().nullable(),
  /** Who was told of the end; null when no session was there to be told. */
  announced_to: sessionIdSchema.nullable(),
  /** The message that told it; null when it learned it as the answer to its own call. */
  announcement: messageIdSchema.nullable(),
});
export type Subagent = z.infer<typeof subagentSchema>;

export const subagentViewSchema = subagentSchema.extend({ handle: z.string(), parent_handle: z.string() });
export type SubagentView = z.infer<typeof subagentViewSchema>;

/** What has worked below one session, which is nobody's subagent itself, and for it in the pool. */
export const treeSchema = z.object({
  root: sessionIdSchema,
  handle: z.string(),
  live: z.number().int(),
  spawned: z.number().int(),
  output_tokens: z.number(),
  /** US dollars, as far as they are known. */
  cost: z.number(),
  /** Turns of which nobody knows what they cost. */
  untold: z.number().int(),
});
export type Tree = z.infer<typeof treeSchema>;

/** What a tree may use up; null is without a limit. */
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
  /** How many ended with it, itself included; 0 when it had ended before. */
  killed: z.number().int(),
});
export type KillOutcome = z.infer<typeof killOutcomeSchema>;

export const leaseSchema = z.object({ id: z.string(), holder: sessionIdSchema, since: z.number() });
export type Lease = z.infer<typeof leaseSchema>;

export const pooledAgentSchema = z.object({
  /** The pooled session: what `agent_ask` takes as `agent_id`. */
  session: sessionIdSchema,
  /** For people. Two agents may show the same; what is matched are the four fields below. */
  key: z.string(),
  source: agentSourceSchema,
  plugin: z.string().nullable(),
  slug: z.string(),
  config_hash: z.string(),
  uses: z.number().int(),
  created_at: z.number(),
  last_used_at: z.number(),
  lease: leaseSchema.nullable(),
});
export type PooledAgent = z.infer<typeof pooledAgentSchema>;

export const pooledAgentViewSchema = pooledAgentSchema.extend({
  handle: z.string(),
  state: z.enum(["idle", "busy"]),
  /** Its agent is no longer what it was: no task is given to it any more. */
  stale: z.boolean(),
});
export type PooledAgentView = z.infer<typeof pooledAgentViewSchema>;
