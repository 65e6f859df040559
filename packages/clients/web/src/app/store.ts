/** What the whole app knows: the board, the project, and who wants to hear of events. */

import type { FollowedItem } from "@aegis/client/events.ts";
import {
  applyDelta,
  applyEvent,
  type Board,
  changesCounts,
  emptyBoard,
  withAsks,
  withoutOldClosed,
  withPast,
  withSession,
} from "@aegis/client/model/board.ts";
import type { Status } from "@aegis/contract/api.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { signal } from "@preact/signals";
import { client } from "./client.ts";
import { follow } from "./stream.ts";

export const board = signal<Board>(emptyBoard);
export const status = signal<Status | null>(null);

/** Whether the page follows the daemon while it is hidden. */
export const keepHidden = signal(false);

type Listener = (items: readonly FollowedItem[]) => void;
const listeners = new Set<Listener>();

/** Calls the listener with everything that the stream delivers, once per frame. Returns a function that ends it. */
export function onStream(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The number of this client in counts of unseen turns. */
export const clientName = "web";
const firstHistories = 40;

/** Loads the board and follows the daemon. Throws if the daemon refuses the page. */
export async function start(): Promise<void> {
  // The position is read first: an event that is applied twice does no harm, a missing one does.
  const known = await client.call("status");
  status.value = known;
  await loadBoard();
  void follow(known.last_seq, take, () => keepHidden.peek());
  await loadLastTurns();
}

async function loadBoard(): Promise<void> {
  const [{ sessions }, { asks }] = await Promise.all([
    client.call("listSessions", { query: { client: clientName } }),
    client.call("listAsks", { query: { limit: 1000 } }),
  ]);
  let next = board.peek();
  for (const session of sessions) next = withSession(next, session);
  board.value = withAsks(next, asks);
}

/** What a session did before the page was opened. A few at a time: a browser makes six requests at once. */
async function loadLastTurns(): Promise<void> {
  const ids = Object.values(board.peek().cards)
    .toSorted((a, b) => b.created_at - a.created_at)
    .slice(0, firstHistories)
    .map(({ id }) => id);
  const next = async (): Promise<void> => {
    const id = ids.shift();
    if (id === undefined) return;
    await loadPast(id).catch(() => {});
    await next();
  };
  await Promise.all([next(), next(), next()]);
}

async function loadPast(id: SessionId): Promise<void> {
  const [{ turns }, { events }] = await Promise.all([
    client.call("listTurns", { path: { session: id }, query: { limit: 1 } }),
    client.call("history", { path: { session: id }, query: { limit: 30 } }),
  ]);
  board.value = withPast(board.peek(), id, events, turns[0]);
}

const refreshing = new Set<SessionId>();

function take(items: readonly FollowedItem[]): void {
  let next = board.peek();
  let closes = false;
  for (const item of items) {
    if (item.kind === "delta") {
      next = applyDelta(next, item.delta);
      continue;
    }
    closes ||= item.event.type === "session.closed";
    next = applyEvent(next, item.event);
    if (item.event.session !== null && changesCounts(item.event)) void refresh(item.event.session);
  }
  board.value = closes ? withoutOldClosed(next) : next;
  for (const listener of listeners) listener(items);
}

/** Asks for the counts of a session again, once for many events. */
async function refresh(session: SessionId): Promise<void> {
  if (refreshing.has(session)) return;
  refreshing.add(session);
  await new Promise((resolve) => setTimeout(resolve, 150));
  refreshing.delete(session);
  const answer = await client
    .call("getSession", { path: { session }, query: { client: clientName } })
    .catch(() => null);
  if (answer !== null) board.value = withSession(board.peek(), answer.session);
}

const second = signal(Date.now(), {
  // One timer for everything that shows an age, and none when nothing does.
  watched() {
    ticking = setInterval(tick, 1_000);
    tick();
  },
  unwatched: () => clearInterval(ticking),
});
let ticking: ReturnType<typeof setInterval> | undefined;

function tick(): void {
  if (!document.hidden) second.value = Date.now();
}

/** The time, once a second while the page is visible. */
export function now(): number {
  return second.value;
}
