/** What a client knows: sessions with their turns and messages, as of one event. Plain data, never changed in place. */
import type { Ask } from "../contract/ask.ts";
import type { MessageId, RunId, SessionId, TaskId, TurnId } from "../contract/ids.ts";
import type { Message } from "../contract/message.ts";
import type { Run } from "../contract/run.ts";
import type { Firing, ScheduleSettings } from "../contract/schedule.ts";
import type { Session } from "../contract/session.ts";
import type { Subagent } from "../contract/subagent.ts";
import type { Task } from "../contract/task.ts";
import type { TurnError, TurnItems, TurnItemType, TurnReason, Usage } from "../contract/turn.ts";

export type State = {
  /** The last event taken in. */
  readonly last_seq: number;
  readonly sessions: Readonly<Record<SessionId, SessionState>>;
  /** Tasks of all queues, from the moment they were enqueued. */
  readonly tasks: Readonly<Record<TaskId, TaskState>>;
  /** By run id, from the moment they were spawned. */
  readonly subagents: Readonly<Record<string, Subagent>>;
  /** Runs of all workflows, from the moment they were started. */
  readonly runs: Readonly<Record<RunId, RunState>>;
  /** By name, from the moment the client hears of them. */
  readonly schedules: Readonly<Record<string, ScheduleActivity>>;
};

export type ScheduleActivity = {
  /** Null until an event has said them. */
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
  /** Steps under way, oldest first. */
  readonly open: readonly { label: string; method: string; started_at: number }[];
  /** The last lines it logged. */
  readonly lines: readonly string[];
};

export type TaskState = Readonly<Task> & {
  /** What the worker still waits for although its turn is over. */
  readonly waiting_on: readonly string[];
};

export type SessionState = Readonly<Session> & {
  /** Oldest first. */
  readonly turns: readonly TurnState[];
  /** Messages by id, whatever became of them. */
  readonly messages: Readonly<Record<MessageId, Message>>;
  /** Messages that no turn has taken, in order of admission. */
  readonly pending: readonly MessageId[];
  /** Questions that wait for a person, oldest first. */
  readonly asks: readonly Ask[];
  readonly notices: readonly { level: "info" | "warning" | "error"; text: string; at: number }[];
};

export type TurnState = {
  readonly id: TurnId;
  readonly messages: readonly MessageId[];
  /** The agent began on its own. */
  readonly spontaneous: boolean;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly reason: TurnReason | null;
  readonly error: TurnError | null;
  /** The whole last assistant message, once the turn has ended. */
  readonly text: string;
  readonly usage: Usage | null;
  readonly items: readonly TurnItem[];
  /** Text still being written, by the harness's id of the message. */
  readonly writing: Readonly<Record<string, { type: "text" | "thinking"; text: string }>>;
};

/** What a driver keeps for itself is not shown. */
export type ShownItemType = Exclude<TurnItemType, "memory">;

export type TurnItem = {
  [Type in ShownItemType]: { type: Type; seq: number; at: number; data: TurnItems[Type] };
}[ShownItemType];

export function emptyState(lastSeq = 0): State {
  return { last_seq: lastSeq, sessions: {}, tasks: {}, subagents: {}, runs: {}, schedules: {} };
}

/** Adds sessions from a list, so that a client can start at the newest event instead of the first. */
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
