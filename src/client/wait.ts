/** Waits until a message has been answered, or will never be. */
import type { Event } from "../contract/event.ts";
import type { MessageId, SessionId, TurnId } from "../contract/ids.ts";
import type { Message } from "../contract/message.ts";
import type { Turn } from "../contract/turn.ts";
import type { Client } from "./client.ts";
import { type Followed, type FollowOptions, followEvents } from "./events.ts";

export type Outcome =
  /** The turn that took the message has ended, however it ended; null when it needed none. */
  | { status: "answered"; message: Message; turn: Turn | null }
  | { status: "cancelled" | "lost" | "refused"; message: Message };

export type WaitOptions = Pick<FollowOptions, "live" | "signal" | "onReconnect" | "sleep"> & {
  /** Where to start following. Take it before sending the message to be told of all of its turn's events. */
  after?: number | undefined;
  /** Everything that happens in the session while waiting. */
  onEvent?: (item: Followed) => void;
};

/** Throws the signal's reason when it aborts; the message itself goes on. */
export async function waitForMessage(
  client: Client,
  id: MessageId,
  session: SessionId,
  options: WaitOptions = {},
): Promise<Outcome> {
  const { signal, onEvent } = options;
  const read = async () => (await client.call("getMessage", { path: { message: id }, signal })).message;
  // The position comes first: what changes after it is in the stream, what changed before is in the message.
  const after = options.after ?? (await client.call("listEvents", { query: { limit: 1 }, signal })).last_seq;
  const message = await read();
  let turn = message.turn;
  if (isSettled(message)) {
    if (onEvent !== undefined) await replay(client, { after, session, signal, onEvent });
    return outcome(client, message, signal);
  }

  for await (const item of followEvents(client, { ...options, after, session })) {
    onEvent?.(item);
    if (item.kind !== "event") continue;
    if (item.event.type === "turn.started" && item.event.data.messages.includes(id)) turn = item.event.data.turn;
    if (item.event.type === "message.steered" && item.event.data.message === id) turn = item.event.data.turn;
    if (!mayHaveSettled(item.event, id, turn)) continue;
    const now = await read();
    if (isSettled(now)) return outcome(client, now, signal);
  }
  throw signal?.reason;
}

/** What a quick answer left behind is told all the same. */
async function replay(
  client: Client,
  options: { after: number; session: SessionId; signal: AbortSignal | undefined; onEvent: (item: Followed) => void },
): Promise<void> {
  const { session, signal, onEvent } = options;
  for (let after = options.after, more = true; more; ) {
    const { events } = await client.call("listEvents", { query: { after, session, limit: 1000 }, signal });
    for (const event of events) onEvent({ kind: "event", event });
    after = events.at(-1)?.seq ?? after;
    more = events.length > 0;
  }
}

/** Hints only; the message itself decides. A lost turn is followed by word of what became of its messages. */
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
