/** The endpoints of workflows and their runs. */
import { z } from "zod";
import { count, type Endpoint, none } from "./api-parts.ts";
import { type Event, eventSchemas } from "./event.ts";
import { runSchema, runStatusSchema, runViewSchema, stepSchema, workflowViewSchema } from "./run.ts";
import { runIdSchema } from "./schema-ids.ts";

const workflowPath = z.object({ workflow: z.string().describe("a workflow's name") });
const runPath = z.object({ run: z.string().describe("a run's id, or the end of it if no other run has the same") });

/** Events of runs only, so that this table does not depend on the whole of the other. */
const runEventSchema = z.object({
  seq: z.number().int(),
  at: z.number(),
  type: z.enum(Object.keys(eventSchemas) as (keyof typeof eventSchemas)[]),
  session: z.null(),
  data: z.unknown(),
}) as unknown as z.ZodType<Event>;

export const workflowEndpoints = {
  listWorkflows: {
    summary: "The workflows that can be run",
    path: none,
    query: none,
    body: none,
    output: z.object({ workflows: z.array(workflowViewSchema) }),
  },
  getWorkflow: {
    summary: "One workflow and what it takes",
    path: workflowPath,
    query: none,
    body: none,
    output: z.object({ workflow: workflowViewSchema }),
  },
  startRun: {
    summary: "Run a workflow; answers at once, the run goes on",
    path: workflowPath,
    query: none,
    body: z.object({
      id: runIdSchema.optional().describe("chosen by the sender so that a repeated request starts one run only"),
      args: z.record(z.string(), z.unknown()).default({}),
      text_args: z
        .record(z.string(), z.union([z.string(), z.array(z.string())]))
        .default({})
        .describe("arguments as typed on a command line: read as the workflow's schema wants them"),
      host: z.string().optional().describe("the session it works for, by id or handle"),
      callback: z.boolean().default(false).describe("send the host a message when it ends"),
      within: runIdSchema
        .optional()
        .describe("the run one of whose commands asks for it: how long such chains are is limited"),
    }),
    output: z.object({ run: runSchema }),
  },
  listRuns: {
    summary: "Runs, newest first",
    path: none,
    query: z.object({ workflow: z.string().optional(), status: runStatusSchema.optional(), limit: count(1000, 50) }),
    body: none,
    output: z.object({ runs: z.array(runSchema) }),
  },
  getRun: {
    summary: "One run and how far it is",
    path: runPath,
    query: none,
    body: none,
    output: z.object({ run: runViewSchema }),
  },
  listSteps: {
    summary: "Steps of a run, in the order they were begun",
    path: runPath,
    query: z.object({ limit: count(100_000, 10_000) }),
    body: none,
    output: z.object({ steps: z.array(stepSchema) }),
  },
  runEvents: {
    summary: "What happened in a run, oldest first",
    path: runPath,
    query: z.object({ after: z.coerce.number().int().min(0).default(0), limit: count(1000, 500) }),
    body: none,
    output: z.object({ events: z.array(runEventSchema) }),
  },
  resumeRun: {
    summary: "Take a parked run up again, or send one that failed or was cancelled back to its last checkpoint",
    path: runPath,
    query: none,
    body: z.object({
      force: z.boolean().default(false).describe("set aside what is on record and no longer fits its code"),
    }),
    output: z.object({ run: runSchema }),
  },
  cancelRun: {
    summary: "Cancel a run: its steps are cut, its sessions closed",
    path: runPath,
    query: none,
    body: z.object({ reason: z.string().max(500).default("cancelled by a person") }),
    output: z.object({ run: runSchema }),
  },
  forkRun: {
    summary: "Start a new run from a checkpoint of another one",
    path: runPath,
    query: none,
    body: z.object({
      id: runIdSchema.optional(),
      checkpoint: z
        .number()
        .int()
        .min(0)
        .optional()
        .describe("how many checkpoints to keep; when absent, all that its code still fits"),
    }),
    output: z.object({ run: runSchema }),
  },
} satisfies Record<string, Endpoint>;
