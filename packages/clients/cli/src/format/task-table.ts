/** Queues and tasks as aligned columns. */
import type { BudgetCheck, QueueView, TaskView } from "@aegis/contract/task.ts";
import { type TableOptions, table } from "./columns.ts";
import type { Style } from "./style.ts";
import { dollars, plural } from "./text.ts";
import { relativeTime } from "./time.ts";

export function queueTable(queues: readonly QueueView[], options: TableOptions): string[] {
  const { style } = options;
  const titles = ["QUEUE", "AGENT", "AT ONCE", "RUNNING", "WAITING", "DONE", "FAILED", "STATE"];
  return table(options, titles, queues, (queue) => [
    { text: queue.name, paint: style.cyan },
    queue.settings?.agent ?? "-",
    String(queue.settings?.max_parallel ?? (queue.source === "built-in" ? 1 : "-")),
    count(queue.tasks.dispatched),
    count(queue.tasks.pending),
    count(queue.tasks.completed),
    { text: count(queue.tasks.failed), ...(queue.tasks.failed > 0 ? { paint: style.red } : {}) },
    { text: queueState(queue, options.now), paint: style.yellow },
  ]);
}

export function taskTable(tasks: readonly TaskView[], options: TableOptions): string[] {
  const { style } = options;
  const hasNodes = tasks.some(({ node }) => node !== undefined);
  const titles = [
    { text: "TITLE", flexible: true as const },
    ...["QUEUE", ...(hasNodes ? ["NODE"] : []), "STATUS"],
    { text: "TRIES", spare: 1 },
    { text: "SINCE", spare: 0 },
    "TASK",
  ];
  return table(options, titles, tasks, (task) => [
    { text: task.error === null ? task.title : `${task.error} ← ${task.title}` },
    { text: task.queue, paint: style.cyan },
    ...(hasNodes ? [{ text: task.node ?? "-" }] : []),
    { text: taskStatus(task), paint: statusPaint(task, style) },
    String(task.attempts),
    relativeTime(task.ended_at ?? task.dispatched_at ?? task.enqueued_at, options.now),
    { text: task.id, paint: style.dim },
  ]);
}

/** Why a queue does not start tasks, or what it is. Empty for a declared queue that starts tasks. */
export function queueState(queue: QueueView, now: number): string {
  if (queue.source === "missing") return "no longer declared";
  if (queue.paused) return "paused";
  if (queue.source === "built-in") return "lands the work of sessions";
  if (queue.blocked_by.length === 0) return queue.source === "added" ? "added" : "";
  return queue.unblock_at === null
    ? "its budget waits for a running task"
    : `over budget, free ${relativeTime(queue.unblock_at, now)}`;
}

export function budgetLine(check: BudgetCheck, now: number): string {
  const amount = (value: number) => (check.constraint === "usd" ? dollars(value) : `${value} output tokens`);
  const parts = [`${amount(check.spent)} of ${amount(check.limit)} used within ${check.window}`];
  if (check.reserved === null) parts.push("the usage of the running task is unknown, so it runs alone");
  else if (check.reserved > 0) parts.push(`${amount(check.reserved)} expected for running tasks`);
  if (check.unknown > 0) parts.push(`${plural(check.unknown, "attempt")} of unknown usage`);
  if (check.unblock_at !== null) parts.push(`free ${relativeTime(check.unblock_at, now)}`);
  return parts.join("; ");
}

export function taskStatus(task: TaskView): string {
  if (task.status === "completed") return `completed (${verification(task)})`;
  return task.status === "pending" ? `pending (${task.queued_position ?? 1})` : task.status;
}

/** A task without a valid receipt is done only by its worker's word. */
function verification({ verified, receipt }: TaskView): string {
  if (verified) return "verified";
  return receipt?.state === "void" ? "receipt void" : "unverified";
}

function statusPaint(task: TaskView, style: Style): (text: string) => string {
  const plain = (text: string) => text;
  return { pending: plain, dispatched: style.green, completed: style.dim, failed: style.red, cancelled: style.yellow }[
    task.status
  ];
}

function count(value: number): string {
  return value === 0 ? "-" : String(value);
}
