/**
 * A queue is a named list of tasks; a task is one delegated unit of work, done by a new session of the queue's agent.
 */
import { z } from "zod";
import { onCrashSchema, slugPattern } from "./agent.ts";
import { checkInputSchema } from "./check.ts";
import { mergeQueueName } from "./landing.ts";
import { requiredLabelsSchema } from "./node.ts";
import { receiptViewSchema } from "./receipt.ts";
import { messageIdSchema, sessionIdSchema, taskIdSchema } from "./schema-ids.ts";
import { starterSchema } from "./starter.ts";
import { isolationSchema } from "./worktree.ts";

export const queueNameMaxLength = 64;
export const queueNameSchema = z
  .string()
  .max(queueNameMaxLength)
  .regex(slugPattern, "expected lower-case letters and digits joined by - or _, starting with a letter")
  .refine((name) => name !== mergeQueueName, { error: "this is the name of the queue of landings; choose another" });

/** The budget of a queue's tasks within a time window. Exactly one of the two limits is set. */
export const budgetSchema = z
  .object({
    usd: z.number().positive().optional(),
    output_tokens: z.int().min(1).optional(),
    window: z.string().regex(/^[1-9]\d{0,5}[mhdw]$/, "expected a number and m, h, d or w, as in 1h"),
  })
  .refine((budget) => (budget.usd === undefined) !== (budget.output_tokens === undefined), {
    error: "expected exactly one of usd and output_tokens",
  });
export type Budget = z.infer<typeof budgetSchema>;

/** The rights of a worker: at most those of the agent that gave the task, or all rights of the queue's own agent. */
export const queueRightsSchema = z.enum(["producer", "own"]);

export const queueSettingsSchema = z.object({
  agent: z.string().min(1),
  max_parallel: z.int().min(1).max(1000).default(1),
  /** How often a failed task is retried. */
  retries: z.int().min(0).max(100).default(0),
  /** Timeout of one attempt, in seconds; `null` for none. */
  timeout: z.number().positive().nullable().default(null),
  /** What happens to a task that was in progress when Aegis stopped. `retry` uses up no retry, but needs a queue that has some. */
  on_crash: onCrashSchema.default("retry"),
  /** Where its workers work; absent means as their agent says. */
  isolation: isolationSchema.optional(),
  /** The labels that the nodes of its workers must have, besides those of its agent. */
  nodes: requiredLabelsSchema.optional(),
  budgets: z.array(budgetSchema).max(20).default([]),
  /** Default: `producer`. */
  rights: queueRightsSchema.optional(),
  /** The only agents that may enqueue tasks; absent means every agent. People and schedules always may. */
  producers: z.array(z.string().min(1)).optional(),
  /** A command that must succeed before a task completes. */
  check: checkInputSchema.optional(),
});
export type QueueSettings = z.infer<typeof queueSettingsSchema>;

/** `failed` tasks have used up their retries and stay until someone requeues them. */
export const taskStatusSchema = z.enum(["pending", "dispatched", "completed", "failed", "cancelled"]);
export type TaskStatus = z.infer<typeof taskStatusSchema>;

/** `own_rights`: the queue had `rights: own` and named this agent when the task was accepted. */
export const taskStarterSchema = starterSchema.extend({ own_rights: z.boolean() });
export type TaskStarter = z.infer<typeof taskStarterSchema>;

export const taskSchema = z.object({
  id: taskIdSchema,
  queue: z.string(),
  payload: z.string(),
  status: taskStatusSchema,
  /** The session that enqueued the task; null for a person. */
  producer: sessionIdSchema.nullable(),
  /** The agent that enqueued the task, or started the run that did; null for a person or a schedule. */
  starter: taskStarterSchema.nullable().default(null),
  /** True if the producer receives a message when the task ends. */
  callback: z.boolean(),
  /** The causal chain that the task belongs to, and its length in messages. */
  chain: messageIdSchema.nullable(),
  hops: z.int(),
  /** Attempts so far. */
  attempts: z.int(),
  /** Failed attempts since the task was enqueued or requeued. */
  failures: z.int(),
  /** The session of the last attempt. */
  worker: sessionIdSchema.nullable(),
  /** The worker's whole last message, regardless of how the task ended. */
  result: z.string().nullable(),
  error: z.string().nullable(),
  enqueued_at: z.number(),
  /** The earliest time of the next attempt after a failure. */
  not_before: z.number().nullable(),
  dispatched_at: z.number().nullable(),
  ended_at: z.number().nullable(),
});
export type Task = z.infer<typeof taskSchema>;

export const taskViewSchema = taskSchema.extend({
  /** The first meaningful line of its payload. */
  title: z.string().default(""),
  /** Position among the pending tasks of its queue, from 1; null if it is not pending. */
  queued_position: z.int().nullable(),
  /** The limit of its starter's tree, or the labels of a node, that it waits for; null if it does not wait for one. */
  waits_for: z.string().nullable().default(null),
  /** The command that must succeed before it completes; null if there is none. */
  check: z.string().nullable().default(null),
  /** The last run of its check. */
  receipt: receiptViewSchema.nullable().default(null),
  /** True if it completed and its check passed on the present files. */
  verified: z.boolean().default(false),
  /** The node of its last worker. Absent without a cluster, and before it has a worker. */
  node: z.string().optional(),
});
export type TaskView = z.infer<typeof taskViewSchema>;

export const attemptSchema = z.object({
  task: taskIdSchema,
  queue: z.string(),
  number: z.int(),
  worker: sessionIdSchema,
  started_at: z.number(),
  ended_at: z.number().nullable(),
  /** Why the attempt did not complete the task. */
  error: z.string().nullable(),
  /** Null while in progress, and if the harness does not report it. */
  output_tokens: z.number().nullable(),
  cost: z.number().nullable(),
});
export type Attempt = z.infer<typeof attemptSchema>;

export const budgetCheckSchema = z.object({
  constraint: z.enum(["usd", "output_tokens"]),
  limit: z.number(),
  window: z.string(),
  /** Known usage within the window. */
  spent: z.number(),
  /** Expected usage of the tasks in progress; null if it cannot be estimated. */
  reserved: z.number().nullable(),
  /** Attempts within the window whose usage is unknown and therefore not covered by the budget. */
  unknown: z.int(),
  allowed: z.boolean(),
  /** When the window allows a task again; null if that depends on a task in progress, or if nothing is blocked. */
  unblock_at: z.number().nullable(),
});
export type BudgetCheck = z.infer<typeof budgetCheckSchema>;

export const queueViewSchema = z.object({
  name: z.string(),
  /** `missing`: it has tasks but is no longer declared. `built-in`: the merge queue, whose entries are landings. */
  source: z.enum(["config", "added", "missing", "built-in"]),
  settings: queueSettingsSchema.nullable(),
  paused: z.boolean(),
  tasks: z.record(taskStatusSchema, z.int()),
  budgets: z.array(budgetCheckSchema),
  /** The budgets that prevent waiting tasks from starting. */
  blocked_by: z.array(budgetCheckSchema),
  unblock_at: z.number().nullable(),
});
export type QueueView = z.infer<typeof queueViewSchema>;

/** The outcome of a cancel request. */
export const cancelOutcomeSchema = z.union([
  z.object({ ok: z.literal(true), status: z.literal("cancelled"), was: z.enum(["pending", "in_flight"]) }),
  z.object({ ok: z.literal(true), status: taskStatusSchema, note: z.literal("already terminal") }),
  z.object({ ok: z.literal(false), error: z.string() }),
]);
export type CancelOutcome = z.infer<typeof cancelOutcomeSchema>;
