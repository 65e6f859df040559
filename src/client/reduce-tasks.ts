/** Applies events to tasks. */
import type { Event, EventOf } from "../contract/event.ts";
import type { State, TaskState } from "./state.ts";

export type TaskEvent = EventOf<"task.enqueued" | "task.dispatched" | "task.deferred" | "task.requeued" | "task.ended">;

export function isTaskEvent(event: Event): event is TaskEvent {
  return event.type.startsWith("task.");
}

/** Ignores a task whose start the client did not see; the list of tasks returns it. */
export function reduceTasks(tasks: State["tasks"], event: TaskEvent): State["tasks"] {
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
