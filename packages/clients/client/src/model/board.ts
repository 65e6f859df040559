/**
 * The sessions as cards: what each one does now and said last, and who waits for a person. Each event gives a new
 * board, and an event that is applied twice changes nothing more.
 */
import type { Ask } from "@aegis/contract/ask.ts";
import type { Event, EventOf, LiveDelta } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import type { Turn, TurnReason, Usage, UsageTotal } from "@aegis/contract/turn.ts";
import { toolWords } from "../views/tool-words.ts";
import { asksAfter, changeOfSession } from "./session-facts.ts";

export type Card = SessionView & {
  /** What the current turn does, such as `runs npm test`; null if it is not known. `call`: the tool call it is. */
  doing: { readonly words: string; readonly call: string | null } | null;
  /** The last text of the agent. */
  said: string | null;
  /** The end of the last turn. */
  last: { reason: TurnReason; text: string; at: number } | null;
  active_at: number;
};

export type Board = { readonly cards: Readonly<Record<SessionId, Card>>; readonly asks: readonly Ask[] };

export type Column = "needs" | "working" | "done";

export const emptyBoard: Board = { cards: {}, asks: [] };

/** A session as the daemon reports it; keeps what only events tell. */
export function withSession<T extends Board>(board: T, session: SessionView): T {
  const before = board.cards[session.id];
  const model = session.model ?? before?.model ?? null;
  const { doing = null, said = null, last = null } = before ?? {};
  const active_at = before?.active_at ?? session.closed_at ?? session.created_at;
  return withCard(board, {
    ...session,
    model,
    doing: session.state === "working" ? doing : null,
    said,
    last,
    active_at,
  });
}

/** What a session did before the client began to follow it, from a page of its history and its last turn. */
export function withPast<T extends Board>(board: T, id: SessionId, events: readonly Event[], turn?: Turn): T {
  const seen = board.cards[id];
  let past: Board = board;
  for (const event of events) past = applyEvent(past, event);
  const old = past.cards[id];
  if (seen === undefined || old === undefined) return board;
  // Only what the list of sessions did not say; newer events have been applied to the card already.
  const ended = turn === undefined || turn.reason === null ? null : turn;
  return withCard(board, {
    ...seen,
    model: seen.model ?? old.model,
    said: seen.said ?? old.said,
    doing: seen.state === "working" ? (seen.doing ?? old.doing) : null,
    last: ended?.reason ? { reason: ended.reason, text: ended.text, at: ended.ended_at ?? 0 } : seen.last,
    active_at: Math.max(seen.active_at, turn?.ended_at ?? turn?.started_at ?? 0),
  });
}

export function withAsks<T extends Board>(board: T, asks: readonly Ask[]): T {
  return { ...board, asks: asks.toSorted((a, b) => a.created_at - b.created_at) };
}

export function applyEvent<T extends Board>(board: T, event: Event): T {
  if (event.type === "ask.opened" || event.type === "ask.settled")
    return { ...board, asks: asksAfter(board.asks, event) };
  const card = event.session === null ? undefined : board.cards[event.session];
  if (card === undefined) return event.type === "session.created" ? withSession(board, created(event)) : board;
  const change = changeOf(card, event);
  if (change === null) return board;
  return withCard(board, { ...card, ...change, active_at: event.at });
}

/** Text that streams says what the agent does between two events. */
export function applyDelta<T extends Board>(board: T, delta: LiveDelta): T {
  const card = board.cards[delta.session];
  const words = delta.type === "text" ? "writes" : "thinks";
  if (card?.state !== "working" || card.doing?.words === words) return board;
  return withCard(board, { ...card, doing: { words, call: null } });
}

/** A new session has no counts yet. */
function created({ data: { session } }: EventOf<"session.created">): SessionView {
  const none = { needs_you: null, usage: null, context: null, agent_problem: null };
  return { ...session, ...none, pending: 0, unseen: 0, worktree: null, model: null, last_turn_at: null, changes: null };
}

const thinks = { words: "thinks", call: null };

function changeOf(card: Card, event: Event): Partial<Card> | null {
  switch (event.type) {
    case "session.state":
      return { ...changeOfSession(event), ...(event.data.state === "working" ? {} : { doing: null }) };
    case "session.closed":
      return { ...changeOfSession(event), doing: null };
    case "turn.started":
      return { doing: thinks, last_turn_at: event.at };
    case "turn.thinking":
      return { doing: thinks };
    case "turn.text":
      return { doing: thinks, said: event.data.text };
    case "turn.tool_call":
      return { doing: { words: toolWords(event.data), call: event.data.call } };
    case "turn.tool_result":
      return card.doing?.call === event.data.call ? { doing: thinks } : {};
    case "turn.context":
      return { context: { used: event.data.used, size: event.data.size } };
    case "turn.mode":
      return event.data.model === null ? null : { model: event.data.model };
    case "changes.recorded":
      return event.data.total === undefined ? null : { changes: event.data.total };
    case "turn.ended": {
      const { reason, text } = event.data;
      return {
        doing: null,
        last: { reason, text, at: event.at },
        last_turn_at: event.at,
        // A list that was read after the event contains the turn already.
        ...(card.last_turn_at === event.at ? {} : { usage: sum(card.usage, event.data.usage) }),
        ...(text === "" ? {} : { said: text }),
      };
    }
    default:
      return changeOfSession(event) ?? (card.doing === null ? null : {});
  }
}

function sum(total: UsageTotal | null, turn: Usage | null): UsageTotal | null {
  if (turn === null) return total;
  const { input, cache_read, cache_write, output, cost } = turn;
  const before = total ?? { input: 0, cache_read: 0, cache_write: 0, output: 0, cost: null, turns: 0, cost_unknown: 0 };
  return {
    input: before.input + input,
    cache_read: before.cache_read + cache_read,
    cache_write: before.cache_write + cache_write,
    output: before.output + output,
    cost: cost === null ? before.cost : (before.cost ?? 0) + cost,
    turns: before.turns + 1,
    cost_unknown: before.cost_unknown + (cost === null ? 1 : 0),
  };
}

const mostClosed = 200;

/** Bounds the cards of closed sessions: tasks and runs may close thousands while the page is open. */
export function withoutOldClosed<T extends Board>(board: T): T {
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

function withCard<T extends Board>(board: T, card: Card): T {
  return { ...board, cards: { ...board.cards, [card.id]: card } };
}
