/** `aegis task …`: what became of delegated work, and a look over the worker's shoulder. */
import { followEvents } from "../../client/events.ts";
import { isOver } from "../../client/wait-task.ts";
import type { Event } from "../../contract/event.ts";
import type { SessionId, TaskId } from "../../contract/ids.ts";
import type { TaskStatus, TaskView } from "../../contract/task.ts";
import { type Connection, ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { usageError } from "../failure.ts";
import { createStyle } from "../format/style.ts";
import { taskStatus, taskTable } from "../format/task-table.ts";
import { plainText } from "../format/text.ts";
import { relativeTime } from "../format/time.ts";
import type { Terminal } from "../terminal.ts";
import { TurnPrinter } from "../turn-printer.ts";
import { reportEnd, taskId } from "./queue.ts";

export type TaskListArgs = { queue: string | undefined; status: string | undefined; limit: number | undefined };

const statuses: readonly string[] = [
  "pending",
  "dispatched",
  "completed",
  "failed",
  "cancelled",
] satisfies TaskStatus[];

export async function taskList(cx: Terminal, args: TaskListArgs): Promise<number> {
  const { queue, status, limit } = args;
  if (status !== undefined && !statuses.includes(status)) {
    throw usageError(`"${status}" is no status of a task`, `expected one of: ${statuses.join(", ")}`);
  }
  const { client } = await ensureDaemon(cx);
  const { tasks } = await client.call("listTasks", {
    query: {
      limit: limit ?? 50,
      ...(queue === undefined ? {} : { queue }),
      ...(status === undefined ? {} : { status: status as TaskStatus }),
    },
  });
  if (cx.json) cx.printJson({ tasks });
  else if (tasks.length === 0) cx.print("No tasks.");
  else for (const line of taskTable(tasks, { color: cx.color, width: cx.columns, now: Date.now() })) cx.print(line);
  return exitCodes.ok;
}

export async function taskShow(cx: Terminal, args: { task: string }): Promise<number> {
  const id = taskId(args.task);
  const { client } = await ensureDaemon(cx);
  const { task, attempts } = await client.call("getTask", { path: { task: id } });
  if (cx.json) {
    cx.printJson({ task, attempts });
    return exitCodes.ok;
  }
  const style = createStyle(cx.color);
  const now = Date.now();
  cx.print(`${style.cyan(task.queue)} ${task.id}: ${taskStatus(task)}`);
  cx.print(style.dim(`  enqueued ${relativeTime(task.enqueued_at, now)} by ${task.producer ?? "a person"}`));
  if (task.not_before !== null) cx.print(style.dim(`  tried again ${relativeTime(task.not_before, now)}`));
  for (const attempt of attempts) {
    const end = attempt.ended_at === null ? "under way" : (attempt.error ?? "completed");
    cx.print(style.dim(`  try ${attempt.number}, ${relativeTime(attempt.started_at, now)}, ${attempt.worker}: ${end}`));
  }
  cx.print("");
  cx.print(plainText(task.payload));
  if (task.error !== null) cx.print(style.red(`\n${plainText(task.error)}`));
  if (task.result) cx.print(`\n${style.dim("the worker's last message:")}\n\n${plainText(task.result)}`);
  return exitCodes.ok;
}

/** The exit code of the task: 1 when it failed or was cancelled. */
export async function taskTail(cx: Terminal, args: { task: string }): Promise<number> {
  const id = taskId(args.task);
  const connection = await ensureDaemon(cx);
  const stopped = new AbortController();
  const undo = cx.onStop(() => stopped.abort());
  try {
    const task = await watch(cx, connection, id, stopped.signal);
    return task === null ? exitCodes.interrupted : reportEnd(cx, task);
  } finally {
    undo();
  }
}

/** Shows what the workers of the task do until it has ended; null when the watching was stopped. */
async function watch(cx: Terminal, { client }: Connection, id: TaskId, signal: AbortSignal): Promise<TaskView | null> {
  const printer = new TurnPrinter({ text: cx.write, aside: cx.warn }, createStyle(cx.color));
  const show = (event: Event) => (cx.json ? cx.printJson(event) : printer.show({ kind: "event", event }));
  // The position comes first: what happens after it is in the stream, what happened before is in the history.
  const { last_seq: after } = await client.call("listEvents", { query: { limit: 1 } });
  const read = async () => (await client.call("getTask", { path: { task: id } })).task;
  const task = await read();
  let worker: SessionId | null = task.worker;
  if (worker !== null) {
    const { events } = await client.call("history", { path: { session: worker }, query: { limit: 1000 } });
    for (const event of events as Event[]) if (event.seq <= after) show(event);
  }
  if (isOver(task)) return task;
  for await (const item of followEvents(client, { after, live: !cx.json, signal })) {
    if (item.kind === "delta") {
      if (item.delta.session === worker) printer.show(item);
      continue;
    }
    const { event } = item;
    if (event.session !== null && event.session === worker) show(event);
    if (!event.type.startsWith("task.") || !("task" in event.data) || event.data.task !== id) continue;
    if (cx.json) cx.printJson(event);
    if (event.type === "task.dispatched") worker = event.data.worker;
    if (event.type === "task.requeued") cx.warn(`tried again, because: ${event.data.reason}`);
    if (event.type === "task.deferred") cx.warn(`waits for ${event.data.waiting_on.join(", ")}`);
    if (event.type !== "task.ended") continue;
    printer.finish();
    const now = await read();
    if (isOver(now)) return now;
  }
  return null;
}
