/** Computes the state after an event. Pure and idempotent. */
import type { Event, EventOf, LiveDelta } from "@aegis/contract/event.ts";
import type { MessageId, TurnId } from "@aegis/contract/ids.ts";
import type { MessageStatus } from "@aegis/contract/message.ts";
import { isScheduleEvent, reduceSchedules, type ScheduleEvent } from "./reduce-schedules.ts";
import {
  newSession,
  newTurn,
  type RunState,
  type SessionState,
  type State,
  type TaskState,
  type TurnItem,
  type TurnState,
} from "./state.ts";

/**
 * Returns the state after an event. Pure: the same events give the same state, and an event applied twice changes
 * nothing.
 *
 * @example
 * ```ts
 * import { connect, followEvents, initialState, reduce } from "aegis/client";
 *
 * const client = await connect();
 * let state = initialState();
 * for await (const item of followEvents(client, { after: state.last_seq })) {
 *   if (item.kind === "event") state = reduce(state, item.event);
 * }
 * ```
 */
export function reduce(state: State, event: Event): State {
  if (event.seq <= state.last_seq) return state;
  const next = { ...state, last_seq: event.seq };
  if (event.type === "session.created") {
    const { session } = event.data;
    return { ...next, sessions: { ...next.sessions, [session.id]: newSession(session) } };
  }
  if (isRunEvent(event)) return { ...next, runs: reduceRuns(state.runs, event) };
  if (isScheduleEvent(event)) return { ...next, schedules: reduceSchedules(state.schedules, event) };
  if (isSubagentEvent(event)) return { ...next, subagents: reduceSubagents(state.subagents, event) };
  if (isTaskEvent(event)) return { ...next, tasks: reduceTasks(state.tasks, event) };
  const before = event.session === null ? undefined : state.sessions[event.session];
  if (before === undefined) return next;
  return { ...next, sessions: { ...next.sessions, [before.id]: reduceSession(before, event) } };
}

/**
 * Returns the state after a live text delta. Deltas are not stored; the event that follows carries the whole text and
 * replaces them. A delta that does not continue the text shown so far is skipped.
 *
 * @example
 * ```ts
 * import { applyDelta, connect, followEvents, initialState, reduce } from "aegis/client";
 *
 * const client = await connect();
 * let state = initialState();
 * for await (const item of followEvents(client, { after: 0, live: true })) {
 *   state = item.kind === "event" ? reduce(state, item.event) : applyDelta(state, item.delta);
 * }
 * ```
 */
export function applyDelta(state: State, delta: LiveDelta): State {
  const session = state.sessions[delta.session];
  const turn = session?.turns.findLast((candidate) => candidate.id === delta.turn);
  if (session === undefined || turn === undefined || turn.ended_at !== null) return state;
  const written = turn.writing[delta.message];
  const before = written?.type === delta.type ? written.text : "";
  if (delta.offset !== before.length) return state;
  const writing = { ...turn.writing, [delta.message]: { type: delta.type, text: before + delta.text } };
  return { ...state, sessions: { ...state.sessions, [session.id]: withTurn(session, { ...turn, writing }) } };
}

type SessionEvent = Exclude<Event, EventOf<"session.created"> | TaskEvent | RunEvent | ScheduleEvent | SubagentEvent>;

function reduceSession(session: SessionState, event: SessionEvent): SessionState {
  switch (event.type) {
    case "daemon.started":
    case "daemon.stopping":
    case "config.reloaded":
    case "config.rejected":
    case "node.joined":
    case "node.lost":
    case "node.changed":
    case "client.changed":
    case "queue.added":
    case "queue.removed":
    case "queue.paused":
    case "queue.resumed":
    case "group.created":
    case "group.joined":
    case "group.broadcast":
    case "group.replied":
    case "group.settled":
    case "group.dissolved":
    case "pool.leased":
    case "pool.released":
    case "pool.evicted":
    case "plugin.loaded":
    case "plugin.reloaded":
    case "plugin.failed":
    case "plugin.restarting":
    case "plugin.restored":
    case "plugin.removed":
    case "plugin.gates_missing":
    case "plugin.gates_held":
    case "skill.installed":
    case "skill.updated":
    case "skill.removed":
    case "skill.given":
    case "skill.routed":
    case "changes.recorded":
    case "worktree.ready":
    case "worktree.failed":
    case "worktree.removed":
    case "rescue.saved":
    case "rescue.failed":
    case "land.queued":
    case "land.started":
    case "land.ended":
    case "claim.refused":
    case "receipt.recorded":
      return session;
    case "session.renamed":
      return { ...session, handle: event.data.handle };
    case "session.titled":
      return { ...session, title: event.data.title, title_source: event.data.source };
    case "session.agent": {
      const { agent, harness, offline } = event.data;
      return { ...session, agent, harness, offline };
    }
    case "session.state":
      return { ...session, state: event.data.state, error: event.data.error };
    case "session.closed":
      return {
        ...withMessages(session, event.data.refused, "refused"),
        state: "closed",
        closed_at: event.at,
      };
    case "session.moved":
      return { ...session, node: event.data.node };
    case "session.notice":
      return { ...session, notices: [...session.notices, { ...event.data, at: event.at }] };
    case "message.admitted": {
      const { message } = event.data;
      return withMessages({ ...session, messages: { ...session.messages, [message.id]: message } }, [message.id]);
    }
    case "message.cancelled":
      return withMessages(session, [event.data.message], "cancelled");
    case "message.received": {
      const { message, body } = event.data;
      const before = session.messages[message];
      if (before === undefined) return session;
      const received = { ...before, body, sent: before.sent ?? before.body };
      return { ...session, messages: { ...session.messages, [message]: received } };
    }
    case "message.steered": {
      const { message, turn } = event.data;
      const joined = withMessages(session, [message], "dispatched", turn);
      const found = joined.turns.findLast((candidate) => candidate.id === turn);
      return found === undefined ? joined : withTurn(joined, { ...found, messages: [...found.messages, message] });
    }
    case "message.redelivered": {
      const { message } = event.data;
      // If the harness has to be asked first, the turn that sends the message again has already started.
      const isUnderWay = session.turns.some((turn) => turn.ended_at === null && turn.messages.includes(message));
      return isUnderWay ? session : withMessages(session, [message], "pending");
    }
    case "message.lost":
      return withMessages(session, [event.data.message], "lost");
    case "ask.opened":
      // A client may have read the ask from a list before its event arrives.
      return { ...session, asks: [...session.asks.filter(({ id }) => id !== event.data.ask.id), event.data.ask] };
    case "ask.settled":
      return { ...session, asks: session.asks.filter((ask) => ask.id !== event.data.ask) };
    case "turn.started": {
      const { turn, messages, spontaneous } = event.data;
      const taken = withMessages(session, messages, "dispatched", turn);
      return withTurn(taken, { ...newTurn(turn, event.at), messages, spontaneous });
    }
    case "session.memory_lost":
    case "tool.called":
    case "turn.accepted":
    case "turn.memory":
      return session;
    case "turn.text":
    case "turn.thinking":
    case "turn.tool_call":
    case "turn.tool_result":
    case "turn.plan":
    case "turn.usage":
    case "turn.context":
    case "turn.compaction":
    case "turn.mode":
    case "turn.notice":
    case "turn.raw":
      return withItem(session, event);
    case "turn.ended": {
      const { turn: id, reason, error, text, usage } = event.data;
      const turn = turnOf(session, id, event.at);
      const ended = withTurn(session, { ...turn, ended_at: event.at, reason, error, text, usage, writing: {} });
      // Separate events report whether a lost turn's messages are sent again.
      return reason === "lost" ? ended : withMessages(ended, turn.messages, "done", id);
    }
    default:
      return unknownEvent(event, session);
  }
}

/** The compiler proves that every event of this version is handled. Events of a newer daemon are ignored. */
function unknownEvent(_event: never, session: SessionState): SessionState {
  return session;
}

type ItemEvent = EventOf<`turn.${TurnItem["type"]}`>;

function withItem(session: SessionState, event: ItemEvent): SessionState {
  const { turn: id, ...data } = event.data;
  const turn = turnOf(session, id, event.at);
  const item = { type: event.type.slice("turn.".length), seq: event.seq, at: event.at, data } as TurnItem;
  const whole = event.type === "turn.text" || event.type === "turn.thinking" ? event.data.message : null;
  const writing = whole === null ? turn.writing : without(turn.writing, whole);
  return withTurn(session, { ...turn, items: [...turn.items, item], writing });
}

/** A client that starts late receives events of turns whose start it did not see. */
function turnOf(session: SessionState, id: TurnId, at: number): TurnState {
  return session.turns.findLast((turn) => turn.id === id) ?? newTurn(id, at);
}

function withTurn(session: SessionState, turn: TurnState): SessionState {
  const index = session.turns.findLastIndex((candidate) => candidate.id === turn.id);
  const turns = index === -1 ? [...session.turns, turn] : session.turns.with(index, turn);
  return { ...session, turns };
}

/** Sets the status of messages, if given, and updates `pending`. */
function withMessages(
  session: SessionState,
  ids: readonly MessageId[],
  status?: MessageStatus,
  turn: TurnId | null = null,
): SessionState {
  const messages = { ...session.messages };
  for (const id of ids) {
    const message = messages[id];
    if (message !== undefined && status !== undefined)
      messages[id] = { ...message, status, turn: turn ?? message.turn };
  }
  const changed = new Set(ids);
  const waiting = ids.filter((id) => messages[id]?.status === "pending");
  const pending = [...session.pending.filter((id) => !changed.has(id)), ...waiting];
  // A message that is sent again returns to its position.
  pending.sort((a, b) => (messages[a]?.admitted_at ?? 0) - (messages[b]?.admitted_at ?? 0));
  return { ...session, messages, pending };
}

function without<T>(record: Readonly<Record<string, T>>, key: string): Record<string, T> {
  const { [key]: _, ...rest } = record;
  return rest;
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
