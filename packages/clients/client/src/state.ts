/** The state of a client: sessions with their turns and messages, as of one event. Immutable plain data. */
import type { Ask } from "@aegis/contract/ask.ts";
import type { MessageId, RunId, SessionId, TaskId, TurnId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { Run } from "@aegis/contract/run.ts";
import type { Firing, ScheduleSettings } from "@aegis/contract/schedule.ts";
import type { Session } from "@aegis/contract/session.ts";
import type { Subagent } from "@aegis/contract/subagent.ts";
import type { Task } from "@aegis/contract/task.ts";
import type { TurnError, TurnItems, TurnItemType, TurnReason, Usage } from "@aegis/contract/turn.ts";

export type State = {
  /** The sequence number of the last applied event. */
  readonly last_seq: number;
  readonly sessions: Readonly<Record<SessionId, SessionState>>;
  /** Tasks of all queues whose enqueue event the client has seen. */
  readonly tasks: Readonly<Record<TaskId, TaskState>>;
  /** By run id, for subagents whose spawn event the client has seen. */
  readonly subagents: Readonly<Record<string, Subagent>>;
  /** Runs of all workflows whose start event the client has seen. */
  readonly runs: Readonly<Record<RunId, RunState>>;
  /** By name, for schedules that an event has mentioned. */
  readonly schedules: Readonly<Record<string, ScheduleActivity>>;
};

export type ScheduleActivity = {
  /** Null until an event contains them. */
  readonly settings: ScheduleSettings | null;
  /** The newest firings, oldest first. */
  readonly firings: readonly Firing[];
};

export type RunState = Readonly<
  Pick<Run, "id" | "workflow" | "args" | "host" | "status" | "phase" | "result" | "error">
> & {
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly steps_done: number;
  /** Steps in progress, oldest first. */
  readonly open: readonly { label: string; method: string; started_at: number }[];
  /** The last log lines. */
  readonly lines: readonly string[];
};

export type TaskState = Readonly<Task> & {
  /** What the worker waits for after its turn has ended. */
  readonly waiting_on: readonly string[];
};

export type SessionState = Readonly<Session> & {
  /** Oldest first. */
  readonly turns: readonly TurnState[];
  /** All messages by id. */
  readonly messages: Readonly<Record<MessageId, Message>>;
  /** Messages that wait for a turn, in order of admission. */
  readonly pending: readonly MessageId[];
  /** Open asks, oldest first. */
  readonly asks: readonly Ask[];
  readonly notices: readonly { level: "info" | "warning" | "error"; text: string; at: number }[];
};

export type TurnState = {
  readonly id: TurnId;
  readonly messages: readonly MessageId[];
  /** True if the agent started the turn on its own. */
  readonly spontaneous: boolean;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly reason: TurnReason | null;
  readonly error: TurnError | null;
  /** The whole last assistant message, once the turn has ended. */
  readonly text: string;
  readonly usage: Usage | null;
  readonly items: readonly TurnItem[];
  /** Text that is still streaming, by the harness's message id. */
  readonly writing: Readonly<Record<string, { type: "text" | "thinking"; text: string }>>;
};

/** Items that drivers keep for themselves are not shown. */
export type ShownItemType = Exclude<TurnItemType, "memory">;

export type TurnItem = {
  [Type in ShownItemType]: { type: Type; seq: number; at: number; data: TurnItems[Type] };
}[ShownItemType];

/**
 * Returns an empty state, from which `reduce` starts. Pass the number of the newest event to start there instead of at
 * the first.
 *
 * @example
 * ```ts
 * import { initialState } from "aegis/client";
 *
 * const state = initialState();
 * state.last_seq; // 0
 * ```
 */
export function emptyState(lastSeq = 0): State {
  return { last_seq: lastSeq, sessions: {}, tasks: {}, subagents: {}, runs: {}, schedules: {} };
}

/**
 * Adds sessions from a list, so that a client can start at the newest event instead of replaying all of them.
 *
 * @example
 * ```ts
 * import { connect, initialState, withSessions } from "aegis/client";
 *
 * const client = await connect();
 * const { last_seq } = await client.call("status");
 * const { sessions } = await client.call("listSessions");
 * const state = withSessions(initialState(last_seq), sessions);
 * ```
 */
export function withSessions(state: State, sessions: readonly Session[]): State {
  const added = Object.fromEntries(sessions.map((session) => [session.id, newSession(session)]));
  return { ...state, sessions: { ...added, ...state.sessions } };
}

export function newSession(session: Session): SessionState {
  return { ...session, turns: [], messages: {}, pending: [], asks: [], notices: [] };
}

export function newTurn(id: TurnId, startedAt: number): TurnState {
  return {
    id,
    messages: [],
    spontaneous: false,
    started_at: startedAt,
    ended_at: null,
    reason: null,
    error: null,
    text: "",
    usage: null,
    items: [],
    writing: {},
  };
}
