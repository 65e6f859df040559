/** `aegis queue …`: named lines of work, and tasks put into them. */
import { waitForTask } from "../../client/wait-task.ts";
import { isId, type TaskId } from "../../contract/ids.ts";
import type { Budget, QueueView, TaskView } from "../../contract/task.ts";
import { type Connection, ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { usageError } from "../failure.ts";
import { createStyle } from "../format/style.ts";
import { budgetLine, queueState, queueTable, taskTable } from "../format/task-table.ts";
import { plainText, plural } from "../format/text.ts";
import { duration } from "../format/time.ts";
import { textArgument } from "../input-text.ts";
import type { Terminal } from "../terminal.ts";

export async function queueList(cx: Terminal): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("listQueues");
  if (cx.json) cx.printJson(answer);
  else if (answer.queues.length === 0) {
    cx.print("No queues.");
    cx.print("Add one with: aegis queue add <queue> <agent>");
  } else for (const line of queueTable(answer.queues, tableOptions(cx))) cx.print(line);
  return exitCodes.ok;
}

export type QueueAddArgs = {
  name: string;
  agent: string;
  maxParallel: number | undefined;
  retries: number | undefined;
  timeoutMs: number | undefined;
  onCrash: string | undefined;
  budgets: readonly string[];
};

export async function queueAdd(cx: Terminal, args: QueueAddArgs): Promise<number> {
  const { name, agent, maxParallel, retries, timeoutMs } = args;
  const body = {
    name,
    agent,
    budgets: args.budgets.map(parseBudget),
    ...(maxParallel === undefined ? {} : { max_parallel: maxParallel }),
    ...(retries === undefined ? {} : { retries }),
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs / 1_000 }),
    ...(args.onCrash === undefined ? {} : { on_crash: crashPolicy(args.onCrash) }),
  };
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("addQueue", { body });
  if (cx.json) cx.printJson(answer);
  else cx.print(`added queue ${answer.queue.name}, agent ${agent}`);
  return exitCodes.ok;
}

export async function queueRemove(cx: Terminal, args: { name: string; force: boolean }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("removeQueue", { path: { queue: args.name }, query: { force: args.force } });
  const cancelled = answer.cancelled.length;
  if (cx.json) cx.printJson(answer);
  else cx.print(`removed ${args.name}${cancelled === 0 ? "" : `, ${plural(cancelled, "task")} cancelled`}`);
  return exitCodes.ok;
}

export type EnqueueArgs = {
  queue: string;
  payload: string | undefined;
  wait: boolean;
  timeoutMs: number | undefined;
  key: string | undefined;
};

export async function queueEnqueue(cx: Terminal, args: EnqueueArgs): Promise<number> {
  const payload = await textArgument(cx, args.payload, "payload");
  const connection = await ensureDaemon(cx);
  const answer = await connection.client.call("enqueueTask", {
    path: { queue: args.queue },
    body: { payload, ...(args.key === undefined ? {} : { key: args.key }) },
  });
  const { task, queued_position: position } = answer;
  const receipt = position === 0 ? task.status : `waits (position ${position})`;
  if (args.wait) {
    cx.warn(createStyle(cx.color).dim(`${task.id} ${receipt}`));
    return waitAndReport(cx, connection, task.id, args.timeoutMs);
  }
  if (cx.json) cx.printJson(answer);
  else {
    cx.print(task.id);
    cx.warn(answer.duplicate ? `this key was used before: the task is ${task.status}` : receipt);
  }
  return exitCodes.ok;
}

export async function queueStatus(cx: Terminal, args: { queue: string | undefined; failed: boolean }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const { queue: name } = args;
  const queues =
    name === undefined
      ? (await client.call("listQueues")).queues
      : [(await client.call("getQueue", { path: { queue: name } })).queue];
  const wanted = args.failed ? (["failed"] as const) : (["dispatched", "pending"] as const);
  const lists = await Promise.all(
    wanted.map((status) =>
      client.call("listTasks", { query: { status, limit: 100, ...(name === undefined ? {} : { queue: name }) } }),
    ),
  );
  const tasks = lists.flatMap((list) => list.tasks);
  if (cx.json) {
    cx.printJson({ queues, tasks });
    return exitCodes.ok;
  }
  if (!args.failed) for (const queue of queues) printQueue(cx, queue);
  if (tasks.length > 0) for (const line of taskTable(tasks, tableOptions(cx))) cx.print(line);
  else cx.print(args.failed ? "No failed tasks." : "No unfinished tasks.");
  if (args.failed && tasks.length > 0) cx.warn("put one back with: aegis queue retry <task>");
  return exitCodes.ok;
}

/** Exit code 1 when one of them was over already or does not exist. */
export async function queueCancel(cx: Terminal, args: { tasks: readonly string[] }): Promise<number> {
  const ids = args.tasks.map(taskId);
  const { client } = await ensureDaemon(cx);
  const outcomes = [];
  for (const task of ids) outcomes.push({ task, ...(await client.call("cancelTask", { path: { task } })) });
  if (cx.json) cx.printJson({ outcomes });
  else
    for (const outcome of outcomes) {
      if (!outcome.ok) cx.warn(`aegis: ${outcome.error}`);
      else if ("was" in outcome) cx.print(`cancelled ${outcome.task}, it was ${outcome.was}`);
      else cx.print(`${outcome.task} is ${outcome.status} already`);
    }
  return outcomes.every((outcome) => outcome.ok && "was" in outcome) ? exitCodes.ok : exitCodes.failed;
}

export async function queueRetry(cx: Terminal, args: { tasks: readonly string[] }): Promise<number> {
  const ids = args.tasks.map(taskId);
  const { client } = await ensureDaemon(cx);
  const tasks: TaskView[] = [];
  for (const task of ids) tasks.push((await client.call("retryTask", { path: { task } })).task);
  if (cx.json) cx.printJson({ tasks });
  else for (const task of tasks) cx.print(`${task.id} is ${task.status} again`);
  return exitCodes.ok;
}

/** How long the daemon is asked to wait at a time. */
const drainRoundS = 30;

/** Exit code 1 when the time was over first. */
export async function queueDrain(
  cx: Terminal,
  args: { queue: string; timeoutMs: number | undefined },
): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const end = args.timeoutMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + args.timeoutMs;
  const path = { queue: args.queue };
  const { queue: before } = await client.call("getQueue", { path });
  if (before.paused && before.tasks.pending > 0) cx.warn(`${args.queue} is paused: its tasks wait until it is resumed`);
  while (true) {
    const timeout_s = Math.max(0, Math.min(drainRoundS, (end - Date.now()) / 1_000));
    const answer = await client.call("drainQueue", { path, body: { timeout_s } });
    if (!answer.drained && Date.now() < end) continue;
    const { tasks } = answer.queue;
    if (cx.json) cx.printJson(answer);
    else if (answer.drained) cx.print(`${args.queue} has no task left`);
    else cx.warn(`aegis: ${args.queue} still has ${plural(tasks.pending + tasks.dispatched, "task")}`);
    return answer.drained ? exitCodes.ok : exitCodes.failed;
  }
}

export async function queuePause(cx: Terminal, args: { queue: string; paused: boolean }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const answer = await client.call(args.paused ? "pauseQueue" : "resumeQueue", { path: { queue: args.queue } });
  if (cx.json) cx.printJson(answer);
  else cx.print(args.paused ? `${args.queue} is paused` : `${args.queue} goes on`);
  return exitCodes.ok;
}

export function taskId(text: string): TaskId {
  if (isId("tsk", text)) return text;
  throw usageError(`"${text}" is not a task's id: expected one that starts with tsk_`);
}

/** Prints the result of a task that has ended and gives the exit code. */
export function reportTask(cx: Terminal, task: TaskView): number {
  if (cx.json) cx.printJson({ task });
  else if (task.result) cx.print(plainText(task.result));
  else if (task.status === "completed") cx.warn("the worker finished without a final message");
  return reportEnd(cx, task);
}

/** Says so when the task did not complete, and gives the exit code. */
export function reportEnd(cx: Terminal, task: TaskView): number {
  if (task.status === "completed") return exitCodes.ok;
  cx.warn(`aegis: the task ${task.status === "failed" ? `failed: ${task.error}` : "was cancelled"}`);
  return exitCodes.failed;
}

async function waitAndReport(
  cx: Terminal,
  { client }: Connection,
  id: TaskId,
  timeoutMs: number | undefined,
): Promise<number> {
  const stopped = new AbortController();
  const undo = cx.onStop(() => stopped.abort());
  const deadline = timeoutMs === undefined ? null : AbortSignal.timeout(timeoutMs);
  const signal = deadline === null ? stopped.signal : AbortSignal.any([stopped.signal, deadline]);
  try {
    return reportTask(cx, await waitForTask(client, id, { signal }));
  } catch (error) {
    if (!signal.aborted) throw error;
    const { task } = await client.call("getTask", { path: { task: id } });
    if (cx.json) cx.printJson({ task });
    if (deadline?.aborted) cx.warn(`aegis: no result within ${duration(timeoutMs ?? 0)}; the task is ${task.status}`);
    cx.warn(`  it goes on; watch it with: aegis task tail ${id}`);
    return stopped.signal.aborted ? exitCodes.interrupted : exitCodes.failed;
  } finally {
    undo();
  }
}

function printQueue(cx: Terminal, queue: QueueView): void {
  const style = createStyle(cx.color);
  const { tasks, settings } = queue;
  const state = queueState(queue, Date.now());
  const counts = `${tasks.dispatched} running, ${tasks.pending} waiting, ${tasks.completed} done, ${tasks.failed} failed`;
  cx.print(`${style.cyan(queue.name)}: ${counts}${state === "" ? "" : style.yellow(` (${state})`)}`);
  if (settings !== null) {
    const limit = settings.timeout === null ? "no time limit" : `${settings.timeout} s each`;
    const tries = plural(settings.retries, "retry", "retries");
    cx.print(style.dim(`  agent ${settings.agent}, ${settings.max_parallel} at once, ${tries}, ${limit}`));
  }
  for (const check of queue.budgets) cx.print(`  budget: ${budgetLine(check, Date.now())}`);
}

function tableOptions(cx: Terminal) {
  return { color: cx.color, width: cx.columns, now: Date.now() };
}

function crashPolicy(text: string): "retry" | "fail" {
  if (text === "retry" || text === "fail") return text;
  throw usageError(`"${text}" is no policy for --on-crash`, "expected retry or fail");
}

function parseBudget(text: string): Budget {
  const [, amount, unit, window] = /^(\d+(?:\.\d+)?)(usd|tokens)\/(\d+[mhdw])$/.exec(text) ?? [];
  if (amount === undefined || window === undefined) {
    throw usageError(`"${text}" is no budget`, "expected one such as 5usd/1d or 200000tokens/1h");
  }
  return unit === "usd" ? { usd: Number(amount), window } : { output_tokens: Number(amount), window };
}
