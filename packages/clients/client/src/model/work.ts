/** Delegated work as events tell it: tasks, runs, subagents and schedules. `reduce` and the terminal app use it. */
import type { Event, EventOf } from "@aegis/contract/event.ts";
import type { RunState, State, TaskState } from "../state.ts";
import { isScheduleEvent, reduceSchedules, type ScheduleEvent } from "./work-schedules.ts";

export type Work = Pick<State, "tasks" | "runs" | "subagents" | "schedules">;

export type WorkEvent = TaskEvent | RunEvent | ScheduleEvent | SubagentEvent;

export function isWorkEvent(event: Event): event is WorkEvent {
  return isRunEvent(event) || isScheduleEvent(event) || isSubagentEvent(event) || isTaskEvent(event);
}

export function reduceWork<T extends Work>(work: T, event: WorkEvent): T {
  if (isRunEvent(event)) return { ...work, runs: reduceRuns(work.runs, event) };
  if (isScheduleEvent(event)) return { ...work, schedules: reduceSchedules(work.schedules, event) };
  if (isSubagentEvent(event)) return { ...work, subagents: reduceSubagents(work.subagents, event) };
  return { ...work, tasks: reduceTasks(work.tasks, event) };
}

type RunEvent = EventOf<
  "run.started" | "run.resumed" | "run.step" | "run.checkpoint" | "run.log" | "run.output" | "run.parked" | "run.ended"
>;

function isRunEvent(event: Event): event is RunEvent {
  return event.type.startsWith("run.");
}

/** Ignores a run whose start the client did not see; the list of runs returns it. */
function reduceRuns(runs: State["runs"], event: RunEvent): State["runs"] {
  const { run: id, workflow } = event.data;
  if (event.type === "run.started") {
    const { args, host } = event.data;
    const begun = { id, workflow, args, host, status: "running", phase: null, steps_done: 0, open: [], lines: [] };
    return { ...runs, [id]: { ...begun, started_at: event.at, ended_at: null, result: null, error: null } as RunState };
  }
  const before = runs[id];
  return before === undefined ? runs : { ...runs, [id]: reduceRun(before, event) };
}

/** Log lines that a client keeps per run. The run's history has all of them. */
const linesKept = 200;

function reduceRun(run: RunState, event: Exclude<RunEvent, EventOf<"run.started">>): RunState {
  switch (event.type) {
    case "run.resumed":
      // Steps that had begun go on, and no event tells them again.
      return { ...run, status: "running", phase: event.data.phase, ended_at: null };
    case "run.step": {
      const { label, method, status } = event.data;
      if (status === "begun") return { ...run, open: [...run.open, { label, method, started_at: event.at }] };
      const index = run.open.findIndex((step) => step.label === label && step.method === method);
      const open = index === -1 ? run.open : run.open.toSpliced(index, 1);
      return { ...run, open, steps_done: run.steps_done + 1 };
    }
    case "run.checkpoint":
      return { ...run, phase: event.data.name };
    case "run.log":
      return { ...run, lines: [...run.lines, event.data.text].slice(-linesKept) };
    case "run.parked":
      // Code that fits no more may give up its steps. Those that remain are in the list of runs.
      return { ...run, status: "parked", open: event.data.reason === "diverged" ? [] : run.open };
    case "run.ended": {
      const { status, result, error } = event.data;
      return { ...run, status, result, error, ended_at: event.at, open: [] };
    }
    case "run.output":
      return run;
  }
}

type TaskEvent = EventOf<"task.enqueued" | "task.dispatched" | "task.deferred" | "task.requeued" | "task.ended">;

function isTaskEvent(event: Event): event is TaskEvent {
  return event.type.startsWith("task.");
}

/** Ignores a task whose start the client did not see; the list of tasks returns it. */
function reduceTasks(tasks: State["tasks"], event: TaskEvent): State["tasks"] {
  if (event.type === "task.enqueued") {
    return { ...tasks, [event.data.task.id]: { ...event.data.task, waiting_on: [] } };
  }
  const before = tasks[event.data.task];
  return before === undefined ? tasks : { ...tasks, [before.id]: reduceTask(before, event) };
}

function reduceTask(task: TaskState, event: Exclude<TaskEvent, EventOf<"task.enqueued">>): TaskState {
  switch (event.type) {
    case "task.dispatched": {
      const { attempt, worker } = event.data;
      const started = { attempts: attempt, worker, dispatched_at: event.at, not_before: null };
      return { ...task, ...started, status: "dispatched", waiting_on: [] };
    }
    case "task.deferred":
      return { ...task, waiting_on: event.data.waiting_on };
    case "task.requeued": {
      const { failures, not_before } = event.data;
      const cleared = { result: null, error: null, dispatched_at: null, ended_at: null, waiting_on: [] };
      return { ...task, ...cleared, status: "pending", failures, not_before };
    }
    case "task.ended": {
      const { status, result, error } = event.data;
      return { ...task, status, result, error, ended_at: event.at, not_before: null, waiting_on: [] };
    }
    default:
      return task;
  }
}

type SubagentEvent = EventOf<"subagent.spawned" | "subagent.ended" | "subagent.forwarded" | "subagent.archived">;

function isSubagentEvent(event: Event): event is SubagentEvent {
  return event.type.startsWith("subagent.");
}

/** Ignores a subagent whose start the client did not see; the list of subagents returns it. */
function reduceSubagents(subagents: State["subagents"], event: SubagentEvent): State["subagents"] {
  if (event.type === "subagent.spawned") {
    return { ...subagents, [event.data.subagent.run_id]: event.data.subagent };
  }
  const { run_id } = event.data;
  const before = subagents[run_id];
  if (before === undefined) return subagents;
  switch (event.type) {
    case "subagent.ended": {
      const { status, result, error, announced_to, announcement } = event.data;
      const ended = { ...before, status, result, error, announced_to, announcement, ended_at: event.at };
      return { ...subagents, [run_id]: ended };
    }
    case "subagent.forwarded": {
      const { announced_to, announcement } = event.data;
      return { ...subagents, [run_id]: { ...before, announced_to, announcement } };
    }
    case "subagent.archived":
      return { ...subagents, [run_id]: { ...before, archived_at: event.at } };
  }
}
