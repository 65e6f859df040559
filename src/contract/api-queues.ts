/** The endpoints of queues and tasks. */
import { z } from "zod";
import { count, type Endpoint, flag, messageText, none } from "./api-parts.ts";
import { checkInputSchema } from "./check.ts";
import { taskIdSchema } from "./schema-ids.ts";
import {
  attemptSchema,
  cancelOutcomeSchema,
  queueNameSchema,
  queueSettingsSchema,
  queueViewSchema,
  taskStatusSchema,
  taskViewSchema,
} from "./task.ts";

const queuePath = z.object({ queue: z.string().describe("a queue's name") });
const taskPath = z.object({ task: taskIdSchema });

export const queueEndpoints = {
  listQueues: {
    summary: "List queues and their status",
    path: none,
    query: none,
    body: none,
    output: z.object({ queues: z.array(queueViewSchema) }),
  },
  addQueue: {
    summary: "Add a queue; it stays until it is removed",
    path: none,
    query: none,
    body: queueSettingsSchema.extend({ name: queueNameSchema }),
    output: z.object({ queue: queueViewSchema }),
  },
  getQueue: {
    summary: "Get one queue and its status",
    path: queuePath,
    query: none,
    body: none,
    output: z.object({ queue: queueViewSchema }),
  },
  removeQueue: {
    summary: "Remove a queue that was added; `force` cancels its tasks",
    path: queuePath,
    query: z.object({ force: flag }),
    body: none,
    output: z.object({ removed: z.literal(true), cancelled: z.array(taskIdSchema) }),
  },
  pauseQueue: {
    summary: "Pause a queue: start no more tasks; running tasks continue",
    path: queuePath,
    query: none,
    body: none,
    output: z.object({ queue: queueViewSchema }),
  },
  resumeQueue: {
    summary: "Resume a paused queue",
    path: queuePath,
    query: none,
    body: none,
    output: z.object({ queue: queueViewSchema }),
  },
  drainQueue: {
    summary: "Wait until a queue has no tasks left, or until the timeout",
    path: queuePath,
    query: none,
    body: z.object({ timeout_s: z.number().min(0).max(300).default(30) }),
    output: z.object({ drained: z.boolean(), queue: queueViewSchema }),
  },
  enqueueTask: {
    summary: "Put a task into a queue",
    path: queuePath,
    query: none,
    body: z.object({
      payload: messageText.describe("the worker's opening prompt"),
      check: checkInputSchema.optional().describe("a command that must succeed before the task completes"),
      key: z.string().min(1).max(200).optional().describe("an idempotency key: the same key twice adds one task"),
    }),
    output: z.object({
      task: taskViewSchema,
      queued_position: z.number().int().describe("0 if it started at once"),
      duplicate: z.boolean(),
    }),
  },
  listTasks: {
    summary: "List tasks, newest first",
    path: none,
    query: z.object({ queue: z.string().optional(), status: taskStatusSchema.optional(), limit: count(1000, 100) }),
    body: none,
    output: z.object({ tasks: z.array(taskViewSchema) }),
  },
  getTask: {
    summary: "Get one task and its attempts",
    path: taskPath,
    query: none,
    body: none,
    output: z.object({ task: taskViewSchema, attempts: z.array(attemptSchema) }),
  },
  cancelTask: {
    summary: "Cancel a pending or running task",
    path: taskPath,
    query: none,
    body: none,
    output: cancelOutcomeSchema,
  },
  retryTask: {
    summary: "Requeue a failed or cancelled task at the end of its queue",
    path: taskPath,
    query: none,
    body: none,
    output: z.object({ task: taskViewSchema }),
  },
} satisfies Record<string, Endpoint>;
