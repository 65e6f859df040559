/** Tools that delegate work to queues and report its outcome. */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { endRefusal } from "@aegis/agents/rights/may-end.ts";
import { isId, type TaskId } from "@aegis/contract/ids.ts";
import { receiptWords } from "@aegis/contract/receipt.ts";
import type { TaskView } from "@aegis/contract/task.ts";
import type { NewTask } from "@aegis/delegation/queues/admission.ts";
import type { Queues } from "@aegis/delegation/queues/queues.ts";
import type { AgentCommands } from "@aegis/hooks/agent-commands.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import { type AgentTool, type AgentToolContext, defineTool } from "@aegis/sessions/tools/tools.ts";
import type { Turns } from "@aegis/sessions/turns.ts";
import type { Store } from "@aegis/store/store.ts";
import { z } from "zod";
import { causeOf, checkFromHandle, enderOf, fromHandle } from "./caller.ts";
import { agentCheck, checkArgument } from "./check.ts";

export type QueueToolsOptions = {
  store: Store;
  queues: Queues;
  turns: Turns;
  agents: AgentTable;
  commands: AgentCommands;
};

const queue = z.string().describe("a queue's name");
const payload = z.string().min(1).describe("everything the worker needs to know; it sees nothing else");
const taskId = z.string().describe("an id returned by aegis_enqueue");

export function queueTools(options: QueueToolsOptions): AgentTool[] {
  return [enqueue(options), delegate(options), taskStatus(options), cancel(options)];
}

function enqueue(options: QueueToolsOptions): AgentTool {
  return defineTool({
    name: "aegis_enqueue",
    description:
      "Give a task to a queue without waiting. A new worker does it; its result arrives later as a message `> from queue:…`.",
    input: z.object({
      queue,
      payload,
      callback: z.boolean().default(true).describe("false: no message; use aegis_task_status instead"),
      check: checkArgument,
      from_handle: fromHandle,
    }),
    readOnly: false,
    async run(input, context) {
      checkFromHandle(input.from_handle, context);
      const { task, queued_position } = await options.queues.enqueue({
        ...taskFor(options, input, context),
        callback: input.callback,
        check: await agentCheck(input.check, context, options.commands),
      });
      const note = task.waits_for === null ? {} : { waits_for: task.waits_for };
      return { task_id: task.id, queued_position, ...note };
    },
  });
}

function delegate(options: QueueToolsOptions): AgentTool {
  return defineTool({
    name: "aegis_delegate",
    description: "Give a task to a queue and wait for its result. After a timeout the worker continues on its own.",
    input: z.object({
      queue,
      payload,
      timeout_s: z.number().positive().optional().describe("how long to wait; default: until the task ends"),
      check: checkArgument,
      from_handle: fromHandle,
    }),
    readOnly: false,
    sideBySide: { orderedBy: null },
    async run(input, context) {
      checkFromHandle(input.from_handle, context);
      const timeoutMs = input.timeout_s === undefined ? undefined : input.timeout_s * 1_000;
      const check = await agentCheck(input.check, context, options.commands);
      const { id, task } = await options.queues.delegate(
        { ...taskFor(options, input, context), check },
        { signal: context.signal, timeoutMs },
      );
      if (task === null) return { task_id: id, status: "timeout" };
      const { result, error } = task;
      const proof = proofOf(await options.queues.find(id));
      if (task.status === "completed") return { task_id: id, status: "completed", ...proof, result };
      return { task_id: id, status: "failed", ...proof, error, ...(result === null ? {} : { result }) };
    },
  });
}

function taskStatus({ queues }: QueueToolsOptions): AgentTool {
  return defineTool({
    name: "aegis_task_status",
    description: "Get the status of a task.",
    input: z.object({ task_id: taskId }),
    readOnly: true,
    async run({ task_id }) {
      const found = isId("tsk", task_id) ? await queues.find(task_id) : null;
      if (found === null) {
        return { status: "unknown", result: null, error: null, completed_at: null, queued_position: null };
      }
      const { status, result, error, ended_at, queued_position } = found;
      const completed_at = ended_at === null ? null : new Date(ended_at).toISOString();
      return { status, ...proofOf(found), result, error, completed_at, queued_position };
    },
  });
}

/** Whether the result was checked: without a valid receipt it is only what the worker says. */
function proofOf(task: TaskView | null): { verified: boolean; receipt: string | null } {
  const { verified = false, receipt = null } = task ?? {};
  return { verified, receipt: receipt === null ? null : receiptWords(receipt) };
}

function cancel({ store, queues, agents }: QueueToolsOptions): AgentTool {
  return defineTool({
    name: "aegis_cancel",
    description: "Cancel a pending or running task that you or your tree enqueued.",
    input: z.object({ task_id: taskId, from_handle: fromHandle }),
    readOnly: false,
    async run(input, context) {
      checkFromHandle(input.from_handle, context);
      const { task_id } = input;
      const found = isId("tsk", task_id) ? await queues.find(task_id) : null;
      if (found === null) return { ok: false, error: `no task ${task_id}` };
      const agent = agents.loadAgent((await queues.agentOf(found)) ?? "");
      const target = { root: found.starter?.root ?? null, agent, name: `task ${task_id}` };
      const isMine = found.producer === context.caller.id;
      const refusal = isMine ? null : endRefusal(await enderOf(store, context, agents), target);
      return refusal === null ? queues.cancel(found.id) : { ok: false, error: refusal };
    },
  });
}

function taskFor(
  { turns }: QueueToolsOptions,
  input: { queue: string; payload: string },
  context: AgentToolContext,
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
