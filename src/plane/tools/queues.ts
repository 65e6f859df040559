/** Tools to delegate work to queues and to see what became of it. */
import { z } from "zod";
import { isId, type TaskId } from "../../contract/ids.ts";
import { derivedId } from "../../runtime/inbox/derived-id.ts";
import type { NewTask } from "../../runtime/queues/admission.ts";
import type { Queues } from "../../runtime/queues/queues.ts";
import { defineTool, type Tool, type ToolContext } from "../../runtime/registry/tools.ts";
import type { Turns } from "../../runtime/sessions/turns.ts";
import { causeOf, checkFromHandle, fromHandle } from "./caller.ts";

export type QueueToolsOptions = { queues: Queues; turns: Turns };

const queue = z.string().describe("a queue's name");
const payload = z.string().min(1).describe("all the worker needs to know: it sees nothing else");
const taskId = z.string().describe("as given by aegis_enqueue");

export function queueTools(options: QueueToolsOptions): Tool[] {
  return [enqueue(options), delegate(options), taskStatus(options), cancel(options)];
}

function enqueue(options: QueueToolsOptions): Tool {
  return defineTool({
    name: "aegis_enqueue",
    description:
      "Give a task to a queue and go on. A fresh worker does it; its result arrives later as a message `> from queue:…`.",
    input: z.object({
      queue,
      payload,
      callback: z.boolean().default(true).describe("false: no message, ask aegis_task_status instead"),
      from_handle: fromHandle,
    }),
    readOnly: false,
    async run(input, context) {
      checkFromHandle(input.from_handle, context);
      const { task, queued_position } = await options.queues.enqueue({
        ...taskFor(options, input, context),
        callback: input.callback,
      });
      return { task_id: task.id, queued_position };
    },
  });
}

function delegate(options: QueueToolsOptions): Tool {
  return defineTool({
    name: "aegis_delegate",
    description: "Give a task to a queue and wait for its result. After a timeout the worker goes on by itself.",
    input: z.object({
      queue,
      payload,
      timeout_s: z.number().positive().optional().describe("how long to wait; without it until the task ends"),
      from_handle: fromHandle,
    }),
    readOnly: false,
    async run(input, context) {
      checkFromHandle(input.from_handle, context);
      const timeoutMs = input.timeout_s === undefined ? undefined : input.timeout_s * 1_000;
      const { id, task } = await options.queues.delegate(taskFor(options, input, context), {
        signal: context.signal,
        timeoutMs,
      });
      if (task === null) return { task_id: id, status: "timeout" };
      const { result, error } = task;
      if (task.status === "completed") return { task_id: id, status: "completed", result };
      return { task_id: id, status: "failed", error, ...(result === null ? {} : { result }) };
    },
  });
}

function taskStatus({ queues }: QueueToolsOptions): Tool {
  return defineTool({
    name: "aegis_task_status",
    description: "What became of a task.",
    input: z.object({ task_id: taskId }),
    readOnly: true,
    async run({ task_id }) {
      const found = isId("tsk", task_id) ? await queues.find(task_id) : null;
      if (found === null) {
        return { status: "unknown", result: null, error: null, completed_at: null, queued_position: null };
      }
      const { status, result, error, ended_at, queued_position } = found;
      const completed_at = ended_at === null ? null : new Date(ended_at).toISOString();
      return { status, result, error, completed_at, queued_position };
    },
  });
}

function cancel({ queues }: QueueToolsOptions): Tool {
  return defineTool({
    name: "aegis_cancel",
    description: "Cancel a task that waits or is under way.",
    input: z.object({ task_id: taskId, from_handle: fromHandle }),
    readOnly: false,
    async run(input, context) {
      checkFromHandle(input.from_handle, context);
      const { task_id } = input;
      return isId("tsk", task_id) ? queues.cancel(task_id) : { ok: false, error: `no task ${task_id}` };
    },
  });
}

function taskFor(
  { turns }: QueueToolsOptions,
  input: { queue: string; payload: string },
  context: ToolContext,
): NewTask & { id: TaskId } {
  return {
    id: derivedId("tsk", context.key),
    queue: input.queue,
    payload: input.payload,
    producer: context.caller.id,
    callback: false,
    cause: causeOf(context, turns),
  };
}
