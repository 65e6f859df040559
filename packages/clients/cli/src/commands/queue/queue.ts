/** `aegis queue …`: manages queues and enqueues tasks. */

import type { Client } from "@aegis/client/client.ts";
import { waitForTask } from "@aegis/client/wait-work.ts";
import type { ApiOutput } from "@aegis/contract/api.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { isId, type LandingId, type TaskId } from "@aegis/contract/ids.ts";
import { mergeQueueName } from "@aegis/contract/landing.ts";
import { receiptWords } from "@aegis/contract/receipt.ts";
import type { Budget, CancelOutcome, QueueView, TaskView } from "@aegis/contract/task.ts";
import { tableOptions } from "../../format/columns.ts";
import { landingTable } from "../../format/landing-table.ts";
import { budgetLine, queueState, queueTable, taskTable } from "../../format/task-table.ts";
import { oneLine, plainText, plural } from "../../format/text.ts";
import { duration } from "../../format/time.ts";
import type { Handler } from "../../program/command.ts";
import { usageError } from "../../program/failure.ts";
import { given } from "../../program/given.ts";
import { exitCodes } from "../../terminal/context.ts";
import { textArgument } from "../../terminal/input-text.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { untilStopped } from "../../terminal/until-stopped.ts";
import { receiptPaint } from "../worktree/receipts.ts";
import { checkGiven } from "./check-given.ts";
import type { queueCommands } from "./spec.ts";

export const queueList: Handler<typeof queueCommands.list> = async (cx) => {
  const answer = await cx.call("listQueues");
  const none = ["No queues.", "Add one with: aegis queue add <queue> <agent>"];
  cx.show(answer, () => (answer.queues.length === 0 ? none : queueTable(answer.queues, tableOptions(cx))));
};

export const queueAdd: Handler<typeof queueCommands.add> = async (cx, args) => {
  const { name, agent, retries, rights, timeoutMs, producers, nodes } = args;
  const body = {
    name,
    agent,
    budgets: args.budgets.map(parseBudget),
    ...given({ max_parallel: args.maxParallel, retries, on_crash: args.onCrash, rights }),
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs / 1_000 }),
    ...(producers.length === 0 ? {} : { producers: [...producers] }),
    ...(nodes.length === 0 ? {} : { nodes: [...nodes] }),
    ...checkGiven(args),
  };
  const answer = await cx.call("addQueue", { body });
  cx.show(answer, `added queue ${answer.queue.name}, agent ${agent}`);
};

export const queueRemove: Handler<typeof queueCommands.remove> = async (cx, args) => {
  const answer = await cx.call("removeQueue", { path: { queue: args.name }, query: { force: args.force } });
  const cancelled = answer.cancelled.length;
  cx.show(answer, `removed ${args.name}${cancelled === 0 ? "" : `, ${plural(cancelled, "task")} cancelled`}`);
};

export const queueEnqueue: Handler<typeof queueCommands.enqueue> = async (cx, args) => {
  const payload = await textArgument(cx, args.payload, "payload");
  const answer = await cx.call("enqueueTask", {
    path: { queue: args.queue },
    body: { payload, ...given({ key: args.key }), ...checkGiven(args) },
  });
  const { task, queued_position: position } = answer;
  const receipt = position === 0 ? task.status : `waits (position ${position})`;
  if (args.wait) {
    cx.warn(cx.style.dim(`${task.id} ${receipt}`));
    return waitAndReport(cx, task.id, args.timeoutMs);
  }
  cx.show(answer, () => {
    cx.print(task.id);
    cx.warn(answer.duplicate ? `this key was used before: the task is ${task.status}` : receipt);
  });
};

export const queueStatus: Handler<typeof queueCommands.status> = async (cx, args) => {
  const { client } = await cx.daemon();
  const { queue: name } = args;
  const queues =
    name === undefined
      ? (await client.call("listQueues")).queues
      : [(await client.call("getQueue", { path: { queue: name } })).queue];
  const wanted = args.failed ? (["failed"] as const) : (["dispatched", "pending"] as const);
  const query = { limit: 100, ...given({ queue: name }) };
  const ofTasks = name === mergeQueueName ? [] : wanted;
  const lists = await Promise.all(ofTasks.map((status) => client.call("listTasks", { query: { ...query, status } })));
  const tasks = lists.flatMap((list) => list.tasks);
  const hasLandings = queues.some(({ source }) => source === "built-in") && !args.failed;
  const landings = hasLandings ? (await client.call("listLandings", { query: { open: true } })).landings : [];
  cx.show({ queues, tasks, landings }, () => {
    if (!args.failed) cx.tell(queues.flatMap((queue) => queueLines(cx, queue)));
    if (landings.length > 0) cx.tell(landingTable(landings, tableOptions(cx)));
    if (name === mergeQueueName && landings.length === 0) return cx.print("No unfinished landings.");
    if (tasks.length === 0 && landings.length > 0) return;
    if (tasks.length === 0) return cx.print(args.failed ? "No failed tasks." : "No unfinished tasks.");
    cx.tell(taskTable(tasks, tableOptions(cx)));
    if (args.failed) cx.warn("retry one with: aegis queue retry <task>");
  });
};

/** Exits with 1 if a task or a landing had already ended or does not exist. */
export const queueCancel: Handler<typeof queueCommands.cancel> = async (cx, args) => {
  const ids = args.tasks.map((text) => (isId("lnd", text) ? text : taskId(text)));
  const { client } = await cx.daemon();
  const outcomes: ({ task: TaskId | LandingId } & ApiOutput<"cancelTask">)[] = [];
  for (const task of ids)
    outcomes.push({
      task,
      ...(isId("lnd", task) ? await cancelLanding(client, task) : await client.call("cancelTask", { path: { task } })),
    });
  cx.show({ outcomes }, () => {
    for (const outcome of outcomes) {
      if (!outcome.ok) cx.warn(`aegis: ${outcome.error}`);
      else if ("was" in outcome) cx.print(`cancelled ${outcome.task}, it was ${outcome.was}`);
      else cx.print(`${outcome.task} is ${outcome.status} already`);
    }
  });
  return outcomes.every((outcome) => outcome.ok && "was" in outcome) ? exitCodes.ok : exitCodes.failed;
};

async function cancelLanding(client: Client, landing: LandingId): Promise<CancelOutcome> {
  try {
    await client.call("cancelLanding", { path: { landing } });
    return { ok: true, status: "cancelled", was: "pending" };
  } catch (error) {
    if (!(error instanceof AegisError) || !["conflict", "not_found"].includes(error.code)) throw error;
    return { ok: false, error: error.message };
  }
}

export const queueRetry: Handler<typeof queueCommands.retry> = async (cx, args) => {
  const ids = args.tasks.map(taskId);
  const { client } = await cx.daemon();
  const tasks: TaskView[] = [];
  for (const task of ids) tasks.push((await client.call("retryTask", { path: { task } })).task);
  cx.show({ tasks }, () => tasks.map((task) => `${task.id} is ${task.status} again`));
};

/** How long each request waits in the daemon. */
const drainRoundS = 30;

/** Exits with 1 if the timeout passes first. */
export const queueDrain: Handler<typeof queueCommands.drain> = async (cx, args) => {
  const { client } = await cx.daemon();
  const end = args.timeoutMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + args.timeoutMs;
  const path = { queue: args.queue };
  const { queue: before } = await client.call("getQueue", { path });
  if (before.paused && before.tasks.pending > 0) cx.warn(`${args.queue} is paused: its tasks wait until it is resumed`);
  while (true) {
    const timeout_s = Math.max(0, Math.min(drainRoundS, (end - Date.now()) / 1_000));
    const answer = await client.call("drainQueue", { path, body: { timeout_s } });
    if (!answer.drained && Date.now() < end) continue;
    const { tasks } = answer.queue;
    cx.show(answer, () => {
      if (answer.drained) cx.print(`${args.queue} has no task left`);
      else cx.warn(`aegis: ${args.queue} still has ${plural(tasks.pending + tasks.dispatched, "task")}`);
    });
    return answer.drained ? exitCodes.ok : exitCodes.failed;
  }
};

export const queuePause: Handler<typeof queueCommands.pause> = async (cx, { queue }) => {
  cx.show(await cx.call("pauseQueue", { path: { queue } }), `${queue} is paused`);
};

export const queueResume: Handler<typeof queueCommands.resume> = async (cx, { queue }) => {
  cx.show(await cx.call("resumeQueue", { path: { queue } }), `${queue} was resumed`);
};

export function taskId(text: string): TaskId {
  if (isId("tsk", text)) return text;
  throw usageError(`"${text}" is not a task's id: expected one that starts with tsk_`);
}

/** Prints the result of an ended task and returns the exit code. */
function reportTask(cx: Terminal, task: TaskView): number {
  cx.show({ task }, () => {
    if (task.result) cx.print(plainText(task.result));
    else if (task.status === "completed") cx.warn("the worker finished without a final message");
  });
  return reportEnd(cx, task);
}

/** Reports how far the result is verified, or that the task did not complete, and returns the exit code. */
export function reportEnd(cx: Terminal, task: TaskView): number {
  if (task.receipt !== null) cx.warn(receiptPaint(task.receipt, cx.style)(oneLine(receiptWords(task.receipt))));
  else if (task.status === "completed") cx.warn(cx.style.dim("unverified: the task has no check"));
  if (task.status === "completed") return exitCodes.ok;
  cx.warn(`aegis: the task ${task.status === "failed" ? `failed: ${task.error}` : "was cancelled"}`);
  return exitCodes.failed;
}

function waitAndReport(cx: Terminal, id: TaskId, timeoutMs: number | undefined): Promise<number> {
  const deadline = timeoutMs === undefined ? null : AbortSignal.timeout(timeoutMs);
  return untilStopped(cx, async (stopped) => {
    const { client } = await cx.daemon();
    const signal = deadline === null ? stopped : AbortSignal.any([stopped, deadline]);
    try {
      return reportTask(cx, await waitForTask(client, id, { signal }));
    } catch (error) {
      if (!signal.aborted) throw error;
      const { task } = await client.call("getTask", { path: { task: id } });
      if (cx.json) cx.printJson({ task });
      if (deadline?.aborted) cx.warn(`aegis: no result within ${duration(timeoutMs ?? 0)}; the task is ${task.status}`);
      cx.warn(`  it continues; watch it with: aegis task tail ${id}`);
      return stopped.aborted ? exitCodes.interrupted : exitCodes.failed;
    }
  });
}

function queueLines({ style }: Terminal, queue: QueueView): string[] {
  const { tasks, settings } = queue;
  const state = queueState(queue, Date.now());
  const counts = `${tasks.dispatched} running, ${tasks.pending} waiting, ${tasks.completed} done, ${tasks.failed} failed`;
  const lines = [`${style.cyan(queue.name)}: ${counts}${state === "" ? "" : style.yellow(` (${state})`)}`];
  if (settings !== null) {
    const { agent, max_parallel, retries, timeout, producers, rights, check } = settings;
    const limit = timeout === null ? "no time limit" : `${timeout} s each`;
    lines.push(
      style.dim(`  agent ${agent}, ${max_parallel} at once, ${plural(retries, "retry", "retries")}, ${limit}`),
    );
    if (producers !== undefined) lines.push(style.dim(`  only for the agents ${producers.join(", ")}`));
    if (check !== undefined) lines.push(style.dim(`  check: ${typeof check === "string" ? check : check.command}`));
    if (rights === "own") lines.push(style.yellow("  its workers have the rights of the queue's agent"));
  }
  return [...lines, ...queue.budgets.map((check) => `  budget: ${budgetLine(check, Date.now())}`)];
}

function parseBudget(text: string): Budget {
  const [, amount, unit, window] = /^(\d+(?:\.\d+)?)(usd|tokens)\/(\d+[mhdw])$/.exec(text) ?? [];
  if (amount === undefined || window === undefined) {
    throw usageError(`"${text}" is not a budget`, "expected one such as 5usd/1d or 200000tokens/1h");
  }
  return unit === "usd" ? { usd: Number(amount), window } : { output_tokens: Number(amount), window };
}
