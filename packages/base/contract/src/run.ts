/** A workflow is a procedure in code, a run is one execution of it, and a step is one recorded side effect. */
import { z } from "zod";
import { receiptViewSchema } from "./receipt.ts";
import { askIdSchema, messageIdSchema, runIdSchema, sessionIdSchema } from "./schema-ids.ts";
import { starterSchema } from "./starter.ts";

/** A value that JSON serialization preserves. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** `parked` waits for a person's decision; the run's `parked` field states why. */
export const runStatusSchema = z.enum(["running", "parked", "ok", "error", "cancelled"]);
export type RunStatus = z.infer<typeof runStatusSchema>;

export const runErrorSchema = z.object({
  /** `expected`: the workflow reported the failure itself. `crash`: the workflow has a defect. */
  kind: z.enum(["expected", "crash"]),
  name: z.string(),
  message: z.string(),
});
export type RunError = z.infer<typeof runErrorSchema>;

/** Why a run waits for a decision. */
export const parkedSchema = z.object({
  /**
   * `diverged`: the code no longer requests the recorded steps. `missing`: no workflow is registered under the name.
   */
  reason: z.enum(["diverged", "missing"]),
  detail: z.string(),
  /** The recorded step, and the step that the code requested instead; null if there is none. */
  recorded: z.string().nullable(),
  asked: z.string().nullable(),
  /** How many checkpoints still match the code: those before that step. */
  checkpoints: z.int().nullable(),
});
export type ParkedRun = z.infer<typeof parkedSchema>;

export const runSchema = z.object({
  id: runIdSchema,
  workflow: z.string(),
  args: z.record(z.string(), z.unknown()),
  status: runStatusSchema,
  /** The session that started the run and is notified of its end; null for a person. */
  host: sessionIdSchema.nullable(),
  /** The agent whose rights limit everything that the run starts; null if a person or a schedule started it. */
  starter: starterSchema.nullable().default(null),
  /** True if the host receives a message when the run ends. */
  callback: z.boolean(),
  /** The causal chain that the run belongs to, and its length in messages. */
  chain: messageIdSchema.nullable(),
  hops: z.int(),
  /** A hash of the workflow's code at its last execution. */
  code: z.string(),
  /** The number of checkpoints passed, and the name of the last one. */
  epoch: z.int(),
  phase: z.string().nullable(),
  /** How often it was resumed. */
  resumes: z.int(),
  /** How often it was retried from its last checkpoint after it had ended. */
  retries: z.int(),
  forked_from: runIdSchema.nullable(),
  parked: parkedSchema.nullable(),
  result: z.unknown(),
  error: runErrorSchema.nullable(),
  created_at: z.number(),
  resumed_at: z.number().nullable(),
  ended_at: z.number().nullable(),
  /** The node that executes it. Absent without a cluster, and while no node does. */
  node: z.string().optional(),
});
export type Run = z.infer<typeof runSchema>;

/** `begun`: the step has not ended, or its outcome is unknown. */
export const stepStatusSchema = z.enum(["begun", "ok", "error"]);
export type StepStatus = z.infer<typeof stepStatusSchema>;

export const stepSchema = z.object({
  run: runIdSchema,
  epoch: z.int(),
  /** The `parallel` branch it belongs to; empty outside any. */
  scope: z.string(),
  method: z.string(),
  /** A one-line description. */
  label: z.string(),
  status: stepStatusSchema,
  /** Position among the ended steps, from 1. */
  ended: z.int().nullable(),
  error: z.string().nullable(),
  started_at: z.number(),
  ended_at: z.number().nullable(),
});
export type Step = z.infer<typeof stepSchema>;

/** A run in a list. */
export const listedRunSchema = runSchema.extend({
  /** Open asks, for which the run waits. */
  asks: z.array(askIdSchema).default([]),
});
export type ListedRun = z.infer<typeof listedRunSchema>;

/** A run with additional data for clients. */
export const runViewSchema = runSchema.extend({
  host_handle: z.string().nullable(),
  steps_done: z.int(),
  /** Steps in progress. */
  open: z.array(stepSchema),
  /** Sessions that it started, and whether they are open. */
  agents: z.array(z.object({ session: sessionIdSchema, handle: z.string(), agent: z.string(), open: z.boolean() })),
  /** Open asks. */
  asks: z.array(askIdSchema),
  /** The checks of its steps, newest first. */
  receipts: z.array(receiptViewSchema).default([]),
  /** US dollars that its sessions used; null if no harness reports a cost. */
  cost: z.number().nullable(),
});
export type RunView = z.infer<typeof runViewSchema>;

export const workflowParameterSchema = z.object({
  name: z.string(),
  type: z.string(),
  description: z.string(),
  required: z.boolean(),
  default: z.unknown(),
});

export const workflowViewSchema = z.object({
  name: z.string(),
  description: z.string(),
  source: z.string(),
  parameters: z.array(workflowParameterSchema),
  /** The JSON Schema of its arguments. */
  schema: z.record(z.string(), z.unknown()),
  config: z.record(z.string(), z.unknown()),
});
export type WorkflowView = z.infer<typeof workflowViewSchema>;
