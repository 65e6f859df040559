/** Applies events to runs. */
import type { Event, EventOf } from "../contract/event.ts";
import type { RunState, State } from "./state.ts";

export type RunEvent = EventOf<
  "run.started" | "run.resumed" | "run.step" | "run.checkpoint" | "run.log" | "run.output" | "run.parked" | "run.ended"
>;

export function isRunEvent(event: Event): event is RunEvent {
  return event.type.startsWith("run.");
}

/** Ignores a run whose start the client did not see; the list of runs returns it. */
export function reduceRuns(runs: State["runs"], event: RunEvent): State["runs"] {
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
      // Interrupted steps start again.
      return { ...run, status: "running", phase: event.data.phase, ended_at: null, open: [] };
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
      return { ...run, status: "parked", open: [] };
    case "run.ended": {
      const { status, result, error } = event.data;
      return { ...run, status, result, error, ended_at: event.at, open: [] };
    }
    case "run.output":
      return run;
  }
}
