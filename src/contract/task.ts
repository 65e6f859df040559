/** A queue is a named line of work; a task is one delegated unit of it, done by a fresh session of the queue's agent. */
import { z } from "zod";
import { slugPattern } from "./agent.ts";
import { messageIdSchema, sessionIdSchema, taskIdSchema } from "./schema-ids.ts";

export const queueNameMaxLength = 64;
export const queueNameSchema = z
  .string()
  .max(queueNameMaxLength)
  .regex(slugPattern, "expected lower-case letters and digits joined by - or _, starting with a letter");

/** What tasks of a queue may use up within a window of time. Exactly one of the two limits is set. */
export const budgetSchema = z
  .object({
    usd: z.number().positive().optional(),
    output_tokens: z.number().int().min(1).optional(),
    window: z.string().regex(/^[1-9]\d{0,5}[mhdw]$/, "expected a number and m, h, d or w, as in 1h"),
  })
  .refine((budget) => (budget.usd === undefined) !== (budget.output_tokens === undefined), {
    error: "expected exactly one of usd and output_tokens",
  });
export type Budget = z.infer<typeof budgetSchema>;

export const onCrashSchema = z.enum(["retry", "fail"]);

export const queueSettingsSchema = z.object({
  agent: z.string().min(1),
  max_parallel: z.number().int().min(1).max(1000).default(1),
  /** How often a failed task is tried again. */
  retries: z.number().int().min(0).max(100).default(0),
  /** Seconds that one try may take; `null` sets no limit. */
  timeout: z.number().positive().nullable().default(null),
  /** What becomes of a task that was under way when Aegis stopped: `retry` uses up one of its retries. */
  on_crash: onCrashSchema.default("retry"),
  budgets: z.array(budgetSchema).max(20).default([]),
});
export type QueueSettings = z.infer<typeof queueSettingsSchema>;

/** `failed` tasks have used up their retries: they stay until somebody puts them back. */
export const taskStatusSchema = z.enum(["pending", "dispatched", "completed", "failed", "cancelled"]);
export type TaskStatus = z.infer<typeof taskStatusSchema>;

export const taskSchema = z.object({
  id: taskIdSchema,
  queue: z.string(),
  payload: z.string(),
  status: taskStatusSchema,
  /** The session that gave the task; null for a person. */
  producer: sessionIdSchema.nullable(),
  /** The producer gets a message when the task ends. */
  callback: z.boolean(),
  /** The chain of causes the task belongs to, and how many messages long it was. */
  chain: messageIdSchema.nullable(),
  hops: z.number().int(),
  /** Tries begun so far. */
  attempts: z.number().int(),
  /** Tries that failed since the task was enqueued or put back. */
  failures: z.number().int(),
  /** The session of the last try. */
  worker: sessionIdSchema.nullable(),
  /** The worker's whole last message, however the task ended. */
  result: z.string().nullable(),
  error: z.string().nullable(),
  enqueued_at: z.number(),
  /** A task that failed before waits until then. */
  not_before: z.number().nullable(),
  dispatched_at: z.number().nullable(),
  ended_at: z.number().nullable(),
});
export type Task = z.infer<typeof taskSchema>;

export const taskViewSchema = taskSchema.extend({
  /** Place among the pending tasks of its queue, from 1; null when it does not wait. */
  queued_position: z.number().int().nullable(),
});
export type TaskView = z.infer<typeof taskViewSchema>;

export const attemptSchema = z.object({
  task: taskIdSchema,
  queue: z.string(),
  number: z.number().int(),
  worker: sessionIdSchema,
  started_at: z.number(),
  ended_at: z.number().nullable(),
  /** Why it did not complete the task. */
  error: z.string().nullable(),
  /** What it used up; null while under way, and when its harness does not say. */
  output_tokens: z.number().nullable(),
  cost: z.number().nullable(),
});
export type Attempt = z.infer<typeof attemptSchema>;

export const budgetCheckSchema = z.object({
  constraint: z.enum(["usd", "output_tokens"]),
  limit: z.number(),
  window: z.string(),
  /** What is known to have been used up within the window. */
  spent: z.number(),
  /** What the tasks under way are expected to use up; null when nobody can say. */
  reserved: z.number().nullable(),
  /** Tries within the window whose use is not known: the budget does not cover them. */
  unknown: z.number().int(),
  allowed: z.boolean(),
  /** When the window will allow a task again; null when that depends on a task under way, or nothing is blocked. */
  unblock_at: z.number().nullable(),
});
export type BudgetCheck = z.infer<typeof budgetCheckSchema>;

export const queueViewSchema = z.object({
  name: z.string(),
  /** `missing`: it has tasks, but nothing declares it any more. */
  source: z.enum(["config", "added", "missing"]),
  settings: queueSettingsSchema.nullable(),
  paused: z.boolean(),
  tasks: z.record(taskStatusSchema, z.number().int()),
  budgets: z.array(budgetCheckSchema),
  /** The budgets that keep waiting tasks from starting. */
  blocked_by: z.array(budgetCheckSchema),
  unblock_at: z.number().nullable(),
});
export type QueueView = z.infer<typeof queueViewSchema>;

/** What a request to cancel found. */
export const cancelOutcomeSchema = z.union([
  z.object({ ok: z.literal(true), status: z.literal("cancelled"), was: z.enum(["pending", "in_flight"]) }),
  z.object({ ok: z.literal(true), status: taskStatusSchema, note: z.literal("already terminal") }),
  z.object({ ok: z.literal(false), error: z.string() }),
]);
export type CancelOutcome = z.infer<typeof cancelOutcomeSchema>;
