/** A workflow is a procedure; a run is one execution of it; a step is one effect whose result is remembered. */
import { z } from "zod";
import { askIdSchema, messageIdSchema, runIdSchema, sessionIdSchema } from "./schema-ids.ts";

/** What can be written down and read back unchanged. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** `parked` waits for a person to decide: see `parked` of the run for why. */
export const runStatusSchema = z.enum(["running", "parked", "ok", "error", "cancelled"]);
export type RunStatus = z.infer<typeof runStatusSchema>;

export const runErrorSchema = z.object({
  /** `expected` failures are what the workflow itself reports; a `crash` is a fault in it. */
  kind: z.enum(["expected", "crash"]),
  name: z.string(),
  message: z.string(),
});
export type RunError = z.infer<typeof runErrorSchema>;

/** Why a run waits for a decision. */
export const parkedSchema = z.object({
  /** `diverged`: its code no longer asks for what is on record. `missing`: nothing is registered under its name. */
  reason: z.enum(["diverged", "missing"]),
  detail: z.string(),
  /** The step on record, and what was asked for instead; null where there is none. */
  recorded: z.string().nullable(),
  asked: z.string().nullable(),
  /** How many checkpoints its code still fits: those before that step. */
  checkpoints: z.number().int().nullable(),
});
export type Parked = z.infer<typeof parkedSchema>;

export const runSchema = z.object({
  id: runIdSchema,
  workflow: z.string(),
  args: z.record(z.string(), z.unknown()),
  status: runStatusSchema,
  /** The session that started it, which is told of its end; null for a person. */
  host: sessionIdSchema.nullable(),
  /** The host gets a message when the run ends. */
  callback: z.boolean(),
  /** The chain of causes the run belongs to, and how many messages long it was. */
  chain: messageIdSchema.nullable(),
  hops: z.number().int(),
  /** A hash of the workflow's code as it last ran. */
  code: z.string(),
  /** How many checkpoints were passed, and the name of the last one. */
  epoch: z.number().int(),
  phase: z.string().nullable(),
  /** How often it was taken up again. */
  resumes: z.number().int(),
  /** How often it was sent back to its last checkpoint after it had ended. */
  retries: z.number().int(),
  forked_from: runIdSchema.nullable(),
  parked: parkedSchema.nullable(),
  result: z.unknown(),
  error: runErrorSchema.nullable(),
  created_at: z.number(),
  resumed_at: z.number().nullable(),
  ended_at: z.number().nullable(),
});
export type Run = z.infer<typeof runSchema>;

/** `begun` has not ended, or nobody knows whether it has. */
export const stepStatusSchema = z.enum(["begun", "ok", "error"]);
export type StepStatus = z.infer<typeof stepStatusSchema>;

export const stepSchema = z.object({
  run: runIdSchema,
  epoch: z.number().int(),
  /** The branch of a `parallel` it belongs to; empty outside of any. */
  scope: z.string(),
  method: z.string(),
  /** What it does, in one line. */
  label: z.string(),
  status: stepStatusSchema,
  /** Place among the steps that have ended, from 1. */
  ended: z.number().int().nullable(),
  error: z.string().nullable(),
  started_at: z.number(),
  ended_at: z.number().nullable(),
});
export type Step = z.infer<typeof stepSchema>;

/** A run with what a client shows beside it. */
export const runViewSchema = runSchema.extend({
  host_handle: z.string().nullable(),
  steps_done: z.number().int(),
  /** Steps under way. */
  open: z.array(stepSchema),
  /** Sessions it started, and whether they are still open. */
  agents: z.array(z.object({ session: sessionIdSchema, handle: z.string(), agent: z.string(), open: z.boolean() })),
  /** Questions that wait for a person. */
  asks: z.array(askIdSchema),
  /** US dollars its sessions used up; null when no harness says. */
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
