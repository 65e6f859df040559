/** Adds lists of work that the daemon returned, so that a client can start at the newest event. */

import type { Work } from "@aegis/client/model/work.ts";
import type { RunState } from "@aegis/client/state.ts";
import type { RunView } from "@aegis/contract/run.ts";
import type { Subagent } from "@aegis/contract/subagent.ts";
import type { Task } from "@aegis/contract/task.ts";

export function withTasks<T extends Work>(state: T, tasks: readonly Task[]): T {
  const added = Object.fromEntries(tasks.map((task) => [task.id, { ...task, waiting_on: [] }]));
  return { ...state, tasks: { ...added, ...state.tasks } };
}

export function withSubagents<T extends Work>(state: T, subagents: readonly Subagent[]): T {
  const added = Object.fromEntries(subagents.map((one) => [one.run_id, one]));
  return { ...state, subagents: { ...added, ...state.subagents } };
}

export function withRuns<T extends Work>(state: T, runs: readonly RunView[]): T {
  const added = Object.fromEntries(runs.map((run) => [run.id, runState(run)]));
  return { ...state, runs: { ...added, ...state.runs } };
}

function runState(run: RunView): RunState {
  const { id, workflow, args, host, status, phase, result, error, steps_done, ended_at } = run;
  const open = run.open.map(({ label, method, started_at }) => ({ label, method, started_at }));
  const known = { id, workflow, args, host, status, phase, result, error, steps_done, ended_at, open };
  return { ...known, started_at: run.created_at, lines: [] };
}
