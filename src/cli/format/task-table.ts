/** Queues and tasks as aligned columns. */
import type { BudgetCheck, QueueView, TaskView } from "../../contract/task.ts";
import { type Cell, columns } from "./columns.ts";
import { createStyle, type Style } from "./style.ts";
import { dollars, plural } from "./text.ts";
import { relativeTime } from "./time.ts";

type TableOptions = { color: boolean; width: number; now: number };

export function queueTable(queues: readonly QueueView[], options: TableOptions): string[] {
  const style = createStyle(options.color);
  const header = headerOf(["QUEUE", "AGENT", "AT ONCE", "RUNNING", "WAITING", "DONE", "FAILED", "STATE"], style);
  const rows = queues.map((queue): Cell[] => [
    { text: queue.name, paint: style.cyan },
    { text: queue.settings?.agent ?? "-" },
    { text: queue.settings === null ? "-" : String(queue.settings.max_parallel) },
    { text: count(queue.tasks.dispatched) },
    { text: count(queue.tasks.pending) },
    { text: count(queue.tasks.completed) },
    { text: count(queue.tasks.failed), ...(queue.tasks.failed > 0 ? { paint: style.red } : {}) },
    { text: queueState(queue, options.now), paint: style.yellow },
  ]);
  return columns(header, rows, options.width);
}

export function taskTable(tasks: readonly TaskView[], options: TableOptions): string[] {
  const style = createStyle(options.color);
  const header = headerOf(["TASK", "QUEUE", "STATUS", "TRIES", "SINCE", "PAYLOAD"], style);
  const rows = tasks.map((task): Cell[] => [
    { text: task.id },
    { text: task.queue, paint: style.cyan },
    { text: taskStatus(task), paint: statusPaint(task, style) },
    { text: String(task.attempts) },
    { text: relativeTime(task.ended_at ?? task.dispatched_at ?? task.enqueued_at, options.now) },
    { text: task.error === null ? task.payload : `${task.error} ← ${task.payload}` },
  ]);
  return columns(header, rows, options.width);
}

/** What keeps a queue from starting tasks, or nothing. */
export function queueState(queue: QueueView, now: number): string {
  if (queue.source === "missing") return "no longer declared";
  if (queue.paused) return "paused";
  if (queue.blocked_by.length === 0) return queue.source === "added" ? "added" : "";
  return queue.unblock_at === null
    ? "its budget waits for a task under way"
    : `over budget, free ${relativeTime(queue.unblock_at, now)}`;
}

export function budgetLine(check: BudgetCheck, now: number): string {
  const amount = (value: number) => (check.constraint === "usd" ? dollars(value) : `${value} output tokens`);
  const parts = [`${amount(check.spent)} of ${amount(check.limit)} used within ${check.window}`];
  if (check.reserved === null) parts.push("what the task under way will use is not known, so it runs alone");
  else if (check.reserved > 0) parts.push(`${amount(check.reserved)} expected of tasks under way`);
  if (check.unknown > 0) parts.push(`what ${plural(check.unknown, "try", "tries")} used is not known`);
  if (check.unblock_at !== null) parts.push(`free ${relativeTime(check.unblock_at, now)}`);
  return parts.join("; ");
}

export function taskStatus(task: TaskView): string {
  return task.status === "pending" ? `pending (${task.queued_position ?? 1})` : task.status;
}

function statusPaint(task: TaskView, style: Style): (text: string) => string {
  const plain = (text: string) => text;
  return { pending: plain, dispatched: style.green, completed: style.dim, failed: style.red, cancelled: style.yellow }[
    task.status
  ];
}

function headerOf(titles: readonly string[], style: Style): Cell[] {
  return titles.map((text) => ({ text, paint: style.dim }));
}

function count(value: number): string {
  return value === 0 ? "-" : String(value);
}
