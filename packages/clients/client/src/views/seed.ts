/** Adds lists that the daemon returned to a state, so that a client can start at the newest event. */
import type { Ask } from "@aegis/contract/ask.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { RunView } from "@aegis/contract/run.ts";
import type { Subagent } from "@aegis/contract/subagent.ts";
import type { Task } from "@aegis/contract/task.ts";
import type { RunState, State } from "../state.ts";

export function withTasks(state: State, tasks: readonly Task[]): State {
  const added = Object.fromEntries(tasks.map((task) => [task.id, { ...task, waiting_on: [] }]));
  return { ...state, tasks: { ...added, ...state.tasks } };
}

export function withSubagents(state: State, subagents: readonly Subagent[]): State {
  const added = Object.fromEntries(subagents.map((one) => [one.run_id, one]));
  return { ...state, subagents: { ...added, ...state.subagents } };
}

export function withRuns(state: State, runs: readonly RunView[]): State {
  const added = Object.fromEntries(runs.map((run) => [run.id, runState(run)]));
  return { ...state, runs: { ...added, ...state.runs } };
}

function runState(run: RunView): RunState {
  const { id, workflow, args, host, status, phase, result, error, steps_done, ended_at } = run;
  const open = run.open.map(({ label, method, started_at }) => ({ label, method, started_at }));
  const known = { id, workflow, args, host, status, phase, result, error, steps_done, ended_at, open };
  return { ...known, started_at: run.created_at, lines: [] };
}

export function withAsks(state: State, asks: readonly Ask[]): State {
  const sessions = { ...state.sessions };
  for (const ask of asks) {
    const session = sessions[ask.session];
    if (session === undefined || session.asks.some(({ id }) => id === ask.id)) continue;
    sessions[ask.session] = { ...session, asks: [...session.asks, ask] };
  }
  return { ...state, sessions };
}

/** Messages that wait for a turn; they may be older than the part of the history that the client has read. */
export function withPending(state: State, messages: readonly Message[]): State {
  const sessions = { ...state.sessions };
  for (const message of messages) {
    const session = sessions[message.session];
    if (session === undefined || session.messages[message.id] !== undefined) continue;
    sessions[message.session] = {
      ...session,
      messages: { ...session.messages, [message.id]: message },
      pending: [...session.pending, message.id],
    };
  }
  return { ...state, sessions };
}
