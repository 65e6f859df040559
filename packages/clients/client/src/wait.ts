/** Waits until a message has been answered or can no longer be answered. */
import type { Event } from "@aegis/contract/event.ts";
import type { MessageId, SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { Turn } from "@aegis/contract/turn.ts";
import type { Client } from "./client.ts";
import { type FollowedItem, type FollowOptions, followEvents } from "./events.ts";
import { turnOf } from "./turn-of.ts";

export type Outcome =
  /** The turn that took the message has ended, with any outcome; null if it needed no turn. */
  | { status: "answered"; message: Message; turn: Turn | null }
  | { status: "cancelled" | "lost" | "refused"; message: Message };

export type MessageWaitOptions = Pick<FollowOptions, "live" | "signal" | "onReconnect" | "sleep"> & {
  /** Where to start following. Read it before sending the message to receive all events of its turn. */
  after?: number | undefined;
  /** Receives everything that happens in the session while waiting. */
  onEvent?: (item: FollowedItem) => void;
};

/**
 * Waits until a message is answered, cancelled, lost or refused, across restarts of the daemon. Throws the signal's
 * reason when the signal aborts; the message itself continues.
 *
 * @example
 * ```ts
 * import { connect, wait } from "aegis/client";
 *
 * const client = await connect();
 * const { session } = await client.call("createSession", { body: {} });
 * const { receipt } = await client.call("sendMessage", { path: { session: session.id }, body: { text: "hello" } });
 * const outcome = await wait.message(client, receipt.message, session.id);
 * if (outcome.status === "answered") process.stdout.write(`${outcome.turn?.text}\n`);
 * ```
 */
export async function waitForMessage(
  client: Client,
  id: MessageId,
  session: SessionId,
  options: MessageWaitOptions = {},
): Promise<Outcome> {
  const { signal, onEvent } = options;
  const read = async () => (await client.call("getMessage", { path: { message: id }, signal })).message;
  // Read the position first: later changes are in the stream, earlier ones in the message.
  const after = options.after ?? (await client.call("listEvents", { query: { limit: 1 }, signal })).last_seq;
  const message = await read();
  let turn = message.turn;
  if (isSettled(message)) {
    if (onEvent !== undefined) await replay(client, { after, session, signal, onEvent });
    return outcome(client, message, signal);
  }

  for await (const item of followWhileOpen(client, id, { ...options, after, session })) {
    onEvent?.(item);
    if (item.kind !== "event") continue;
    turn = turnOf(item.event, id) ?? turn;
    if (!mayHaveSettled(item.event, id, turn)) continue;
    const now = await read();
    if (!isSettled(now)) continue;
    // Another turn than the one that ended here has answered it; its events are still to come.
    if (now.turn !== turn && onEvent !== undefined)
      await replay(client, { after: item.event.seq, session, signal, onEvent });
    return outcome(client, now, signal);
  }
  if (signal?.aborted) throw signal.reason;
  return outcome(client, await read(), signal);
}

/** Consecutive connections without a new event before the message itself is requested. */
const mostEmpty = 3;

/**
 * Follows events while the message may still be answered. Also ends once the message is settled if the stream keeps
 * breaking at the same place: the message's status decides, not whether every event has arrived.
 */
export async function* followWhileOpen(
  client: Client,
  message: MessageId,
  options: FollowOptions,
): AsyncGenerator<FollowedItem, void, undefined> {
  const over = new AbortController();
  const signal = options.signal === undefined ? over.signal : AbortSignal.any([options.signal, over.signal]);
  let empty = 0;
  const onReconnect = (attempt: number, error: unknown) => {
    options.onReconnect?.(attempt, error);
    empty += 1;
    if (empty < mostEmpty) return;
    client.call("getMessage", { path: { message }, signal }).then(
      (answer) => {
        if (isSettled(answer.message)) over.abort();
      },
      () => {},
    );
  };
  for await (const item of followEvents(client, { ...options, signal, onReconnect })) {
    if (item.kind === "event") empty = 0;
    yield item;
  }
}

/** Also delivers the events of an answer that came before the stream opened. */
async function replay(
  client: Client,
  options: {
    after: number;
    session: SessionId;
    signal: AbortSignal | undefined;
    onEvent: (item: FollowedItem) => void;
  },
): Promise<void> {
  const { session, signal, onEvent } = options;
  for (let after = options.after, more = true; more; ) {
    const { events } = await client.call("listEvents", { query: { after, session, limit: 1000 }, signal });
    for (const event of events) onEvent({ kind: "event", event });
    after = events.at(-1)?.seq ?? after;
    more = events.length > 0;
  }
}

/**
 * These events are only hints; the message itself decides. After a lost turn, other events report the outcome of its
 * messages.
 */
function mayHaveSettled(event: Event, id: MessageId, turn: TurnId | null): boolean {
  switch (event.type) {
    case "turn.ended":
      return event.data.turn === turn;
    case "message.cancelled":
    case "message.lost":
      return event.data.message === id;
    case "session.closed":
      return true;
    default:
      return false;
  }
}

function isSettled(message: Message): boolean {
  return message.status !== "pending" && message.status !== "dispatched";
}

async function outcome(client: Client, message: Message, signal: AbortSignal | undefined): Promise<Outcome> {
  const { status } = message;
  if (status === "cancelled" || status === "lost" || status === "refused") return { status, message };
  const turn =
    message.turn === null ? null : (await client.call("getTurn", { path: { turn: message.turn }, signal })).turn;
  return { status: "answered", message, turn };
}
