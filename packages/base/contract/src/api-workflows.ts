/** The endpoints of workflows and their runs. */
import { z } from "zod";
import { count, endpoint } from "./api-parts.ts";
import { type Event, eventSchemas } from "./event.ts";
import { listedRunSchema, runSchema, runStatusSchema, runViewSchema, stepSchema, workflowViewSchema } from "./run.ts";
import { runIdSchema } from "./schema-ids.ts";

const workflowPath = z.object({ workflow: z.string().describe("a workflow's name") });
const runPath = z.object({ run: z.string().describe("a run's id, or a unique suffix of it") });

/** Only events of runs, so that this table does not depend on the whole event table. */
const runEventSchema = z.object({
  seq: z.int(),
  at: z.number(),
  type: z.enum(Object.keys(eventSchemas) as (keyof typeof eventSchemas)[]),
  session: z.null(),
  data: z.unknown(),
}) as unknown as z.ZodType<Event>;

export const workflowEndpoints = {
  listWorkflows: endpoint("List the workflows", { output: z.object({ workflows: z.array(workflowViewSchema) }) }),
  getWorkflow: endpoint("Get one workflow and its arguments", {
    path: workflowPath,
    output: z.object({ workflow: workflowViewSchema }),
  }),
  startRun: endpoint("Start a run of a workflow; returns without waiting for its end", {
    path: workflowPath,
    body: z.object({
      id: runIdSchema.optional().describe("chosen by the sender to make the request idempotent"),
      args: z.record(z.string(), z.unknown()).default({}),
      text_args: z
        .record(z.string(), z.union([z.string(), z.array(z.string())]))
        .default({})
        .describe("arguments as typed on a command line; converted by the workflow's schema"),
      host: z.string().optional().describe("id or handle of the session that it works for"),
      callback: z.boolean().default(false).describe("send the host a message when the run ends"),
      within: runIdSchema
        .optional()
        .describe("the run whose command makes this request; the length of such chains is limited"),
    }),
    output: z.object({ run: runSchema }),
  }),
  listRuns: endpoint("List runs, newest first", {
    query: z.object({ workflow: z.string().optional(), status: runStatusSchema.optional(), limit: count(1000, 50) }),
    output: z.object({ runs: z.array(listedRunSchema) }),
  }),
  getRun: endpoint("Get one run and its progress", { path: runPath, output: z.object({ run: runViewSchema }) }),
  listSteps: endpoint("List the steps of a run in the order in which they started", {
    path: runPath,
    query: z.object({ limit: count(100_000, 10_000) }),
    output: z.object({ steps: z.array(stepSchema) }),
  }),
  runEvents: endpoint("List the events of a run, oldest first", {
    path: runPath,
    query: z.object({ after: z.coerce.number().int().min(0).default(0), limit: count(1000, 500) }),
    output: z.object({ events: z.array(runEventSchema) }),
  }),
  resumeRun: endpoint("Resume a parked run, or retry a failed or cancelled run from its last checkpoint", {
    path: runPath,
    body: z.object({
      force: z.boolean().default(false).describe("discard recorded steps that no longer match the code"),
    }),
    output: z.object({ run: runSchema }),
  }),
  cancelRun: endpoint("Cancel a run, stop its steps and close its sessions", {
    path: runPath,
    body: z.object({ reason: z.string().max(500).default("cancelled by a person") }),
    output: z.object({ run: runSchema }),
  }),
  forkRun: endpoint("Start a new run from a checkpoint of another one", {
    path: runPath,
    body: z.object({
      id: runIdSchema.optional(),
      checkpoint: z
        .number()
        .int()
        .min(0)
        .optional()
        .describe("how many checkpoints to keep; default: all that still match the code"),
    }),
    output: z.object({ run: runSchema }),
  }),
};
