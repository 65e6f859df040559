/** The bands of the dashboard: queues, work in progress, workflow runs, waiting work, and what ended last. */

import type { Board } from "@aegis/client/model/board.ts";
import type { Work } from "@aegis/client/model/work.ts";
import type { RunState, TaskState } from "@aegis/client/state.ts";
import { preciseDuration, shortId } from "@aegis/client/views/words.ts";
import type { ScheduleView } from "@aegis/contract/schedule.ts";
import type { Subagent } from "@aegis/contract/subagent.ts";
import type { QueueView } from "@aegis/contract/task.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { activityOf } from "./activity.ts";

/** Lists that the daemon computes. A client reads them again when an event says that they changed. */
export type DashboardLists = { readonly queues: readonly QueueView[]; readonly schedules: readonly ScheduleView[] };

export type QueueRow = {
  readonly kind: "queue";
  readonly key: string;
  readonly queue: QueueView;
  readonly busy: number;
  readonly waiting: number;
};
export type TaskRow = { readonly kind: "task"; readonly key: string; readonly task: TaskState; readonly place: number };
export type RunRow = { readonly kind: "run"; readonly key: string; readonly run: RunState };
export type SubagentRow = { readonly kind: "subagent"; readonly key: string; readonly subagent: Subagent };
export type ScheduleRow = { readonly kind: "schedule"; readonly key: string; readonly schedule: ScheduleView };
export type DashboardRow = QueueRow | TaskRow | RunRow | SubagentRow | ScheduleRow;

export type Dashboard = {
  readonly queues: readonly QueueRow[];
  readonly inFlight: readonly (TaskRow | SubagentRow)[];
  readonly workflows: readonly RunRow[];
  /** Tasks in the order in which they start, then schedules by their next slot. */
  readonly queued: readonly (TaskRow | ScheduleRow)[];
  readonly recent: readonly (TaskRow | SubagentRow)[];
};

const mostRecent = 50;

export function dashboard(state: Work, lists: DashboardLists): Dashboard {
  const tasks = Object.values(state.tasks);
  const subagents = Object.values(state.subagents).filter(({ archived_at }) => archived_at === null);
  const taskRow = (task: TaskState, place = 0): TaskRow => ({ kind: "task", key: `task:${task.id}`, task, place });
  const subagentRow = (subagent: Subagent): SubagentRow => ({
    kind: "subagent",
    key: `subagent:${subagent.run_id}`,
    subagent,
  });
  const running = tasks.filter(({ status }) => status === "dispatched");
  const pending = tasks.filter(({ status }) => status === "pending").sort((a, b) => a.enqueued_at - b.enqueued_at);
  const ended = [
    ...tasks.filter(({ status }) => !["pending", "dispatched"].includes(status)).map((task) => taskRow(task)),
    ...subagents.filter(({ status }) => status !== "running").map(subagentRow),
  ];
  const places = new Map<string, number>();
  return {
    queues: lists.queues.map((queue) => ({
      kind: "queue",
      key: `queue:${queue.name}`,
      queue,
      // The entries of a built-in queue are not tasks.
      ...(queue.source === "built-in"
        ? { busy: queue.tasks.dispatched ?? 0, waiting: queue.tasks.pending ?? 0 }
        : {
            busy: running.filter((task) => task.queue === queue.name).length,
            waiting: pending.filter((task) => task.queue === queue.name).length,
          }),
    })),
    inFlight: [
      ...running.sort((a, b) => (a.dispatched_at ?? 0) - (b.dispatched_at ?? 0)).map((task) => taskRow(task)),
      ...subagents.filter(({ status }) => status === "running").map(subagentRow),
    ],
    workflows: runsInOrder(Object.values(state.runs)).map((run) => ({ kind: "run", key: `run:${run.id}`, run })),
    queued: [
      ...pending.map((task) => {
        const place = (places.get(task.queue) ?? 0) + 1;
        places.set(task.queue, place);
        return taskRow(task, place);
      }),
      ...lists.schedules
        .toSorted((a, b) => (a.next_at ?? Number.POSITIVE_INFINITY) - (b.next_at ?? Number.POSITIVE_INFINITY))
        .map((schedule): ScheduleRow => ({ kind: "schedule", key: `schedule:${schedule.name}`, schedule })),
    ],
    recent: ended.sort((a, b) => endOf(b) - endOf(a)).slice(0, mostRecent),
  };
}

function endOf(row: TaskRow | SubagentRow): number {
  return (row.kind === "task" ? row.task.ended_at : row.subagent.ended_at) ?? 0;
}

/** Running ones first, oldest first; then ended ones, latest end first. */
function runsInOrder(runs: readonly RunState[]): RunState[] {
  const open = runs.filter(({ ended_at }) => ended_at === null).sort((a, b) => a.started_at - b.started_at);
  const ended = runs.filter(({ ended_at }) => ended_at !== null).sort((a, b) => (b.ended_at ?? 0) - (a.ended_at ?? 0));
  return [...open, ...ended.slice(0, mostRecent)];
}

export type RunWords = {
  readonly status: "running" | "awaiting reply" | "parked" | "ok" | "error" | "cancelled";
  /** `tdd_cycle 0abcde · host lucid-knuth · running · 12.4s`. */
  readonly line: string;
  /** The outcome, for the line below; null while it runs. */
  readonly outcome: string | null;
};

/** A run as the WORKFLOWS band shows it. */
export function runWords(run: RunState, state: Board, now: number): RunWords {
  const asks = run.status === "running" && run.open.some(({ method }) => /^ask/i.test(method));
  const status = asks ? "awaiting reply" : run.status;
  const host = run.host === null ? "you" : handleOf(state, run.host);
  const time = preciseDuration((run.ended_at ?? now) - run.started_at);
  const line = `${run.workflow} ${shortId(run.id)} · host ${host} · ${status} · ${time}`;
  return { status, line, outcome: outcomeOf(run) };
}

function outcomeOf({ status, result, error }: RunState): string | null {
  if (error !== null) return `${error.name}: ${error.message}`;
  if (status !== "ok" || result === null || result === undefined) return null;
  return typeof result === "string" ? result : (summaryOf(result) ?? JSON.stringify(result));
}

/** A workflow says in `summary` of its result what a person reads first. */
function summaryOf(result: unknown): string | null {
  return isRecord(result) && typeof result.summary === "string" ? result.summary : null;
}

export function handleOf(state: Board, session: string): string {
  return (state.cards as Readonly<Record<string, { handle: string }>>)[session]?.handle ?? shortId(session);
}

/** What the worker of a task does now, or what the task waits for. */
export function taskActivity(task: TaskState, state: Board): string {
  if (task.waiting_on.length > 0) return `waits for ${task.waiting_on.join(", ")}`;
  const worker = task.worker === null ? undefined : state.cards[task.worker];
  return worker === undefined ? "" : activityOf(state, worker).words;
}
