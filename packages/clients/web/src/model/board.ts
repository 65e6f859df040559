/** The sessions as cards: what each one does now, and in which column of the home page it belongs. Pure. */
import type { Ask } from "@aegis/contract/ask.ts";
import type { Event, EventOf } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import type { Turn, TurnReason } from "@aegis/contract/turn.ts";

export type Card = SessionView & {
  /** Known once the harness has reported it. */
  model: string | null;
  /** What the current turn does, such as the title of a tool call. */
  doing: string | null;
  /** The end of the last turn. */
  last: { reason: TurnReason; text: string; at: number } | null;
  active_at: number;
};

export type Board = { readonly cards: Readonly<Record<SessionId, Card>>; readonly asks: readonly Ask[] };

export type Column = "needs" | "working" | "done";

export const emptyBoard: Board = { cards: {}, asks: [] };

/** A session as the daemon reports it; keeps what only events tell. */
export function withSession(board: Board, session: SessionView): Board {
  const before = board.cards[session.id];
  const seen = before ?? { model: null, doing: null, last: null, active_at: session.closed_at ?? session.created_at };
  const { doing, last, active_at } = seen;
  const model = session.model ?? seen.model;
  const card: Card = { ...session, model, doing: session.state === "working" ? doing : null, last, active_at };
  return { ...board, cards: { ...board.cards, [session.id]: card } };
}

export function withLastTurn(board: Board, id: SessionId, turn: Turn | undefined): Board {
  const card = board.cards[id];
  if (card === undefined || turn === undefined) return board;
  const last = turn.reason === null ? card.last : { reason: turn.reason, text: turn.text, at: turn.ended_at ?? 0 };
  return withCard(board, { ...card, last, active_at: Math.max(card.active_at, turn.ended_at ?? turn.started_at) });
}

export function withAsks(board: Board, asks: readonly Ask[]): Board {
  return { ...board, asks: [...asks].sort((a, b) => a.created_at - b.created_at) };
}

/** Applies an event. Applying it twice changes nothing more. */
export function applyEvent(board: Board, event: Event): Board {
  if (event.type === "ask.opened") {
    const others = board.asks.filter((ask) => ask.id !== event.data.ask.id);
    return { ...board, asks: [...others, event.data.ask] };
  }
  if (event.type === "ask.settled") {
    return { ...board, asks: board.asks.filter((ask) => ask.id !== event.data.ask) };
  }
  const card = event.session === null ? undefined : board.cards[event.session];
  if (card === undefined) return event.type === "session.created" ? withSession(board, created(event)) : board;
  const change = changeOf(card, event);
  return change === null ? board : withCard(board, { ...card, ...change, active_at: event.at });
}

/** A new session has no counts yet. */
function created({ data: { session } }: EventOf<"session.created">): SessionView {
  const none = { needs_you: null, usage: null, context: null, agent_problem: null };
  return { ...session, ...none, pending: 0, unseen: 0, worktree: null, model: null, last_turn_at: null, changes: null };
}

function changeOf(card: Card, event: Event): Partial<Card> | null {
  switch (event.type) {
    case "session.renamed":
      return { handle: event.data.handle };
    case "session.titled":
      return { title: event.data.title };
    case "session.state":
      return {
        state: event.data.state,
        error: event.data.error,
        ...(event.data.state === "working" ? {} : { doing: null }),
      };
    case "session.closed":
      return { state: "closed", closed_at: event.at, doing: null };
    case "turn.started":
      return { doing: "starting" };
    case "turn.thinking":
      return { doing: "thinking" };
    case "turn.text":
      return { doing: "writing" };
    case "turn.tool_call":
      return { doing: event.data.title || event.data.name };
    case "turn.context":
      return { context: { used: event.data.used, size: event.data.size } };
    case "turn.mode":
      return event.data.model === null ? null : { model: event.data.model };
    case "changes.recorded":
      return event.data.total === undefined ? null : { changes: event.data.total };
    case "turn.ended":
      return { doing: null, last: { reason: event.data.reason, text: event.data.text, at: event.at } };
    default:
      return card.doing === null ? null : {};
  }
}

const mostClosed = 200;

/** Bounds the cards of closed sessions: tasks and runs may close thousands while the page is open. */
export function withoutOldClosed(board: Board): Board {
  const closed = Object.values(board.cards).filter((card) => card.state === "closed");
  if (closed.length <= 2 * mostClosed) return board;
  const asking = new Set(board.asks.map((ask) => ask.session));
  const kept = new Set(
    closed
      .toSorted((a, b) => (b.closed_at ?? 0) - (a.closed_at ?? 0))
      .slice(0, mostClosed)
      .map(({ id }) => id),
  );
  const cards = Object.values(board.cards).filter(
    ({ id, state }) => state !== "closed" || kept.has(id) || asking.has(id),
  );
  return { ...board, cards: Object.fromEntries(cards.map((card) => [card.id, card])) };
}

/** Events after which counts of the daemon, such as the usage of a session, have changed. */
export function changesCounts(event: Event): boolean {
  return (
    event.type === "turn.ended" ||
    event.type === "turn.started" ||
    event.type === "message.admitted" ||
    event.type === "message.cancelled" ||
    event.type === "session.created"
  );
}

export function asksOf(board: Board, session: SessionId): readonly Ask[] {
  return board.asks.filter((ask) => ask.session === session);
}

export function columnOf(card: Card, asks: readonly Ask[]): Column {
  if (asks.length > 0 || card.state === "error" || card.agent_problem !== null) return "needs";
  return card.state === "working" || card.pending > 0 ? "working" : "done";
}

/** Who waits longest comes first; otherwise the most recently active one. */
export function columns(board: Board): Record<Column, Card[]> {
  const result: Record<Column, Card[]> = { needs: [], working: [], done: [] };
  const askedAt = new Map<SessionId, number>();
  for (const ask of board.asks) if (!askedAt.has(ask.session)) askedAt.set(ask.session, ask.created_at);
  for (const card of Object.values(board.cards)) {
    const asks = askedAt.has(card.id) ? asksOf(board, card.id) : [];
    if (card.state !== "closed" || asks.length > 0) result[columnOf(card, asks)].push(card);
  }
  // A question blocks work; an error has already stopped it.
  const waiting = (card: Card) => askedAt.get(card.id) ?? Number.MAX_SAFE_INTEGER - card.active_at;
  result.needs.sort((a, b) => waiting(a) - waiting(b));
  result.working.sort((a, b) => b.created_at - a.created_at);
  result.done.sort((a, b) => b.active_at - a.active_at);
  return result;
}

function withCard(board: Board, card: Card): Board {
  return { ...board, cards: { ...board.cards, [card.id]: card } };
}
