/** Computes the state after an event. Pure and idempotent. */
import type { Event, EventOf, LiveDelta } from "@aegis/contract/event.ts";
import type { MessageId, TurnId } from "@aegis/contract/ids.ts";
import type { MessageStatus } from "@aegis/contract/message.ts";
import { asksAfter, changeOfSession } from "./model/session-facts.ts";
import { isWorkEvent, reduceWork, type WorkEvent } from "./model/work.ts";
import { newSession, newTurn, type SessionState, type State, type TurnItem, type TurnState } from "./state.ts";

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
  if (isWorkEvent(event)) return reduceWork(next, event);
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

type SessionEvent = Exclude<Event, EventOf<"session.created"> | WorkEvent>;

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
    case "session.titled":
    case "session.agent":
    case "session.state":
    case "session.moved":
      return { ...session, ...changeOfSession(event) };
    case "session.closed":
      return { ...withMessages(session, event.data.refused, "refused"), ...changeOfSession(event) };
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
    case "ask.settled":
      return { ...session, asks: asksAfter(session.asks, event) };
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
