/** The endpoints of queues and tasks. */
import { z } from "zod";
import { count, endpoint, flag, messageText } from "./api-parts.ts";
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
  listQueues: endpoint("List queues and their status", { output: z.object({ queues: z.array(queueViewSchema) }) }),
  addQueue: endpoint("Add a queue; it stays until it is removed", {
    body: queueSettingsSchema.extend({ name: queueNameSchema }),
    output: z.object({ queue: queueViewSchema }),
  }),
  getQueue: endpoint("Get one queue and its status", { path: queuePath, output: z.object({ queue: queueViewSchema }) }),
  removeQueue: endpoint("Remove a queue that was added; `force` cancels its tasks", {
    path: queuePath,
    query: z.object({ force: flag }),
    output: z.object({ removed: z.literal(true), cancelled: z.array(taskIdSchema) }),
  }),
  pauseQueue: endpoint("Pause a queue: start no more tasks; running tasks continue", {
    path: queuePath,
    output: z.object({ queue: queueViewSchema }),
  }),
  resumeQueue: endpoint("Resume a paused queue", { path: queuePath, output: z.object({ queue: queueViewSchema }) }),
  drainQueue: endpoint("Wait until a queue has no tasks left, or until the timeout", {
    path: queuePath,
    body: z.object({ timeout_s: z.number().min(0).max(300).default(30) }),
    output: z.object({ drained: z.boolean(), queue: queueViewSchema }),
  }),
  enqueueTask: endpoint("Put a task into a queue", {
    path: queuePath,
    body: z.object({
      payload: messageText.describe("the worker's opening prompt"),
      check: checkInputSchema.optional().describe("a command that must succeed before the task completes"),
      key: z.string().min(1).max(200).optional().describe("an idempotency key: the same key twice adds one task"),
    }),
    output: z.object({
      task: taskViewSchema,
      queued_position: z.int().describe("0 if it started immediately"),
      duplicate: z.boolean(),
    }),
  }),
  listTasks: endpoint("List tasks, newest first", {
    query: z.object({ queue: z.string().optional(), status: taskStatusSchema.optional(), limit: count(1000, 100) }),
    output: z.object({ tasks: z.array(taskViewSchema) }),
  }),
  getTask: endpoint("Get one task and its attempts", {
    path: taskPath,
    output: z.object({ task: taskViewSchema, attempts: z.array(attemptSchema) }),
  }),
  cancelTask: endpoint("Cancel a pending or running task", { path: taskPath, output: cancelOutcomeSchema }),
  retryTask: endpoint("Requeue a failed or cancelled task at the end of its queue", {
    path: taskPath,
    output: z.object({ task: taskViewSchema }),
  }),
};
