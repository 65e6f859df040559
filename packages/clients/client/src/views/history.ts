/**
 * The part of a session's history that a client holds: consecutive events, newest last. Older pages are put before
 * them. The session's turns are computed from these events, so a page never leaves a gap or a duplicate.
 */
import type { Event } from "@aegis/contract/event.ts";
import type { MessageId, SessionId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import { reduce } from "../reduce.ts";
import { emptyState, newSession, type State, type TurnState } from "../state.ts";

export type HistoryWindow = {
  readonly events: readonly Event[];
  /** The daemon has older events. */
  readonly more: boolean;
};

/** The window with a page of events, in any order and with duplicates removed. */
export function withPage(window: HistoryWindow | undefined, page: readonly Event[], more: boolean): HistoryWindow {
  const known = window?.events ?? [];
  const [first] = known;
  const older = first === undefined ? page : page.filter(({ seq }) => seq < first.seq);
  const last = known.at(-1)?.seq ?? older.at(-1)?.seq ?? 0;
  const newer = first === undefined ? [] : page.filter(({ seq }) => seq > last);
  // A page that only repeats newer events says nothing about older ones.
  const isOlder = first === undefined || older.length > 0 || page.length === 0;
  return { events: [...older, ...known, ...newer], more: isOlder ? more : (window?.more ?? more) };
}

/** The window with the next event. */
export function withEvent(window: HistoryWindow, event: Event): HistoryWindow {
  const last = window.events.at(-1);
  if (last !== undefined && event.seq <= last.seq) return window;
  return { ...window, events: [...window.events, event] };
}

/** The newest events of a window, for a session that is not on the screen. */
export function trimWindow(window: HistoryWindow, keep: number): HistoryWindow {
  return window.events.length <= keep ? window : { events: window.events.slice(-keep), more: true };
}

/**
 * Replaces the turns and messages of a session by those of the window. Texts that are being written stay. `older` are
 * messages that turns of the window took and that were admitted before it; those that the session has stay known.
 */
export function withWindow(state: State, id: SessionId, window: HistoryWindow, older: readonly Message[] = []): State {
  const session = state.sessions[id];
  if (session === undefined) return state;
  const before = { ...Object.fromEntries(older.map((message) => [message.id, message])), ...session.messages };
  let read: State = { ...emptyState(), sessions: { [id]: { ...newSession(session), messages: before } } };
  for (const event of window.events) if (event.type !== "session.created") read = reduce(read, event);
  const found = read.sessions[id];
  if (found === undefined) return state;
  const { turns, notices } = found;
  const taken = new Set<MessageId>(turns.flatMap((turn) => turn.messages));
  const kept = Object.values(found.messages).filter(({ id: one, status }) => taken.has(one) || status === "pending");
  const messages = Object.fromEntries(kept.map((message) => [message.id, message]));
  const pending = kept
    .filter(({ status }) => status === "pending")
    .sort((a, b) => a.admitted_at - b.admitted_at)
    .map((message) => message.id);
  const writing = new Map(session.turns.map((turn) => [turn.id, turn.writing]));
  const merged = turns.map((turn) => withWriting(turn, writing.get(turn.id)));
  return {
    ...state,
    sessions: { ...state.sessions, [id]: { ...session, turns: merged, messages, notices, pending } },
  };
}

function withWriting(turn: TurnState, writing: TurnState["writing"] | undefined): TurnState {
  return turn.ended_at !== null || writing === undefined ? turn : { ...turn, writing };
}

/** Bounds the memory of a session that is not on the screen: keeps its last turns and their last items. */
export function trimSession(state: State, id: SessionId, keep: { turns: number; items: number }): State {
  const session = state.sessions[id];
  if (session === undefined) return state;
  const isLong = session.turns.some(({ items }) => items.length > 2 * keep.items);
  if (session.turns.length <= 2 * keep.turns && !isLong) return state;
  const turns = session.turns
    .slice(-keep.turns)
    .map((turn) => (turn.items.length > keep.items ? { ...turn, items: turn.items.slice(-keep.items) } : turn));
  const used = new Set(turns.flatMap((turn) => turn.messages).concat(session.pending));
  const messages = Object.fromEntries(Object.entries(session.messages).filter(([key]) => used.has(key as never)));
  const notices = session.notices.slice(-20);
  return { ...state, sessions: { ...state.sessions, [id]: { ...session, turns, messages, notices } } };
}
