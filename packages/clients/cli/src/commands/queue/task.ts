/** `aegis task …`: shows tasks, and follows their queue workers. */
import type { Client } from "@aegis/client/client.ts";
import { followEvents } from "@aegis/client/events.ts";
import { taskIsOver } from "@aegis/client/wait-work.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { SessionId, TaskId } from "@aegis/contract/ids.ts";
import type { Attempt, TaskView } from "@aegis/contract/task.ts";
import { tableOptions } from "../../format/columns.ts";
import type { Style } from "../../format/style.ts";
import { taskStatus, taskTable } from "../../format/task-table.ts";
import { oneLine, plainText } from "../../format/text.ts";
import { relativeTime } from "../../format/time.ts";
import type { Handler } from "../../program/command.ts";
import { given } from "../../program/given.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { untilStopped } from "../../terminal/until-stopped.ts";
import { TurnPrinter } from "../../turn-printer.ts";
import { receiptLines } from "../worktree/receipts.ts";
import { reportEnd, taskId } from "./queue.ts";
import type { taskCommands } from "./spec.ts";

export const taskList: Handler<typeof taskCommands.list> = async (cx, args) => {
  const { queue, status, limit } = args;
  const { tasks } = await cx.call("listTasks", { query: { limit, ...given({ queue, status }) } });
  cx.show({ tasks }, () => (tasks.length === 0 ? "No tasks." : taskTable(tasks, tableOptions(cx))));
};

export const taskShow: Handler<typeof taskCommands.show> = async (cx, args) => {
  const { task, attempts } = await cx.call("getTask", { path: { task: taskId(args.task) } });
  cx.show({ task, attempts }, () => taskLines(task, attempts, cx.style));
};

/** Exits with 1 if the task failed or was cancelled. */
export const taskTail: Handler<typeof taskCommands.tail> = async (cx, args) => {
  const id = taskId(args.task);
  const { client } = await cx.daemon();
  const task = await untilStopped(cx, (stopped) => watch(cx, client, id, stopped));
  return task === null ? exitCodes.interrupted : reportEnd(cx, task);
};

/** Shows what the task's queue workers do until it ends; null if the user stopped watching. */
async function watch(cx: Terminal, client: Client, id: TaskId, signal: AbortSignal): Promise<TaskView | null> {
  const printer = new TurnPrinter({ text: cx.write, aside: cx.warn }, cx.style);
  const show = (event: Event) => (cx.json ? cx.printJson(event) : printer.show({ kind: "event", event }));
  // Read the position first: later events come from the stream, earlier ones from the history.
  const { last_seq: after } = await client.call("listEvents", { query: { limit: 1 } });
  const read = async () => (await client.call("getTask", { path: { task: id } })).task;
  const task = await read();
  let worker: SessionId | null = task.worker;
  if (worker !== null) {
    const { events } = await client.call("history", { path: { session: worker }, query: { limit: 1000 } });
    for (const event of events as Event[]) if (event.seq <= after) show(event);
  }
  if (taskIsOver(task)) return task;
  for await (const item of followEvents(client, { after, live: !cx.json, signal, reached: true })) {
    if (item.kind === "delta") {
      if (item.delta.session === worker) printer.show(item);
      continue;
    }
    const { event } = item;
    if (event.session !== null && event.session === worker) show(event);
    if (!event.type.startsWith("task.") || !("task" in event.data) || event.data.task !== id) continue;
    if (cx.json) cx.printJson(event);
    if (event.type === "task.dispatched") worker = event.data.worker;
    if (event.type === "task.requeued") cx.warn(`retried, because: ${event.data.reason}`);
    if (event.type === "task.deferred") cx.warn(`waits for ${event.data.waiting_on.join(", ")}`);
    if (event.type !== "task.ended") continue;
    printer.finish();
    const now = await read();
    if (taskIsOver(now)) return now;
  }
  return null;
}

function taskLines(task: TaskView, attempts: readonly Attempt[], style: Style): string[] {
  const now = Date.now();
  const tries = attempts.map(({ number, started_at, ended_at, worker, error }) => {
    const end = ended_at === null ? "running" : (error ?? "completed");
    return style.dim(`  try ${number}, ${relativeTime(started_at, now)}, ${worker}: ${end}`);
  });
  return [
    `${style.cyan(task.queue)} ${task.id}: ${taskStatus(task)}`,
    style.dim(`  enqueued ${relativeTime(task.enqueued_at, now)} by ${task.producer ?? "a person"}`),
    ...(task.node === undefined ? [] : [style.dim(`  node ${task.node}`)]),
    ...(task.waits_for === null ? [] : [style.yellow(`  waits: ${task.waits_for}`)]),
    ...(task.not_before === null ? [] : [style.dim(`  tried again ${relativeTime(task.not_before, now)}`)]),
    ...tries,
    ...(task.check === null ? [] : [style.dim(`  check: ${oneLine(task.check)}`)]),
    ...(task.receipt === null ? [] : receiptLines(task.receipt, style, task.receipt.state !== "passed")),
    "",
    plainText(task.payload),
    ...(task.error === null ? [] : [style.red(`\n${plainText(task.error)}`)]),
    ...(task.result ? [`\n${style.dim("the worker's last message:")}\n\n${plainText(task.result)}`] : []),
  ];
}
