/**
 * What a crash left behind: turns without an end. Their messages are neither dropped nor doubled: one the harness has
 * on record is not sent again, one it never saw is, and what cannot be answered any more is reported.
 */
import type { Event, EventOf } from "../../contract/event.ts";
import type { MessageId, SessionId, TurnId } from "../../contract/ids.ts";
import type { Message } from "../../contract/message.ts";
import type { Clock } from "../../lib/clock.ts";
import type { SessionRow, Store, StoreTx, TurnRow } from "../../store/store.ts";
import type { Inbox } from "../inbox/inbox.ts";

export type RecoverOptions = {
  store: Store;
  clock: Clock;
  inbox: Inbox;
  /** The session's harness can go on with what it remembers. */
  canResume: (session: SessionRow) => boolean;
};

export type Recovered = { turns: number; redelivered: number; noticed: number; lost: number };

/** Of one turn. */
const mostJoined = 1000;
const cutReason = "Aegis stopped while this turn was under way";

/** Ends every open turn as `lost`. Safe to run again after a crash in the middle of it. */
export async function recover(options: RecoverOptions): Promise<Recovered> {
  const total: Recovered = { turns: 0, redelivered: 0, noticed: 0, lost: 0 };
  for (const turn of await options.store.read.turns.open()) {
    const one = await options.store.transact((tx) => recoverTurn(tx, turn, options));
    total.turns += 1;
    total.redelivered += one.redelivered;
    total.noticed += one.noticed;
    total.lost += one.lost;
  }
  return total;
}

async function recoverTurn(tx: StoreTx, turn: TurnRow, options: RecoverOptions): Promise<Omit<Recovered, "turns">> {
  const none = { redelivered: 0, noticed: 0, lost: 0 };
  const now = options.clock.now();
  const error = { code: "restart", message: cutReason };
  const event = await tx.events.append(
    {
      type: "turn.ended",
      session: turn.session,
      data: { turn: turn.id, reason: "lost", error, text: turn.text, usage: turn.usage },
    },
    now,
  );
  await tx.turns.end(turn.id, {
    at: now,
    reason: "lost",
    error,
    text: turn.text,
    usage: turn.usage,
    seq: event.seq,
  });
  const messages = await tx.messages.inTurn(turn.id);
  const session = await tx.sessions.get(turn.session);
  if (!session || session.closed_at !== null) {
    await setStatus(tx, messages, "lost", turn.id);
    return none;
  }
  await tx.sessions.update(session.id, { state: "ready", error: null });
  await tx.events.append({ type: "session.state", session: session.id, data: { state: "ready", error: null } }, now);
  if (messages.length === 0) return none;
  if (!turn.accepted) {
    const joined = await joinedLater(tx, turn);
    const [later, batch] = [messages.filter(({ id }) => joined.has(id)), messages.filter(({ id }) => !joined.has(id))];
    // The mark of the cut turn stays on them, so that they make up one batch again.
    await setStatus(tx, batch, "pending", turn.id);
    await setStatus(tx, later, "pending", null);
    for (const message of messages) {
      await tx.events.append({ type: "message.redelivered", session: session.id, data: { message: message.id } }, now);
    }
    return { ...none, redelivered: messages.length };
  }
  if (options.canResume(session)) {
    await setStatus(tx, messages, "done", turn.id);
    await options.inbox.admitIn(tx, {
      session: session.id,
      sender: { kind: "substrate" },
      body: cutNotice,
      ...cause(messages),
    });
    return { ...none, noticed: 1 };
  }
  await reportLost(tx, session.id, messages, turn, options);
  return { ...none, lost: messages.length };
}

/** The messages that were not in the turn from its beginning: effects are keyed by the batch it began with. */
async function joinedLater(tx: StoreTx, turn: TurnRow): Promise<ReadonlySet<MessageId>> {
  const steered = { session: turn.session, types: ["message.steered" as const], from: "newest" as const };
  const events = await tx.events.list({ ...steered, limit: mostJoined });
  return new Set(
    events.flatMap((event) => (isJoining(event) && event.data.turn === turn.id ? event.data.message : [])),
  );
}

const isJoining = (event: Event): event is EventOf<"message.steered"> => event.type === "message.steered";

const cutNotice =
  "Your last turn was cut because Aegis stopped. You have its messages already; they are not repeated. " +
  "Some of your tool calls may have taken effect without your seeing the result: check before you repeat them. Go on.";

async function reportLost(
  tx: StoreTx,
  session: SessionId,
  messages: readonly Message[],
  turn: TurnRow,
  options: RecoverOptions,
): Promise<void> {
  await setStatus(tx, messages, "lost", turn.id);
  const reason = "its agent cannot resume, and had already begun to answer";
  for (const message of messages) {
    await tx.events.append(
      { type: "message.lost", session, data: { message: message.id, reason } },
      options.clock.now(),
    );
    await tellSender(tx, message, `Your message ${message.id} was lost: Aegis stopped, and ${reason}.`, options.inbox);
  }
}

/** A sender that is itself a session learns it as a message; a person sees the event. */
export async function tellSender(tx: StoreTx, message: Message, text: string, inbox: Inbox): Promise<SessionId | null> {
  if (message.sender.kind !== "agent") return null;
  const sender = await tx.sessions.get(message.sender.session);
  if (!sender || sender.closed_at !== null) return null;
  await inbox.admitIn(tx, { session: sender.id, sender: { kind: "substrate" }, body: text });
  return sender.id;
}

function cause(messages: readonly Message[]): { cause?: Pick<Message, "chain" | "hops"> } {
  const first = messages[0];
  // Telling a session that its turn was cut is not a hop of its own.
  return first ? { cause: { chain: first.chain, hops: first.hops - 1 } } : {};
}

async function setStatus(
  tx: StoreTx,
  messages: readonly Message[],
  status: "pending" | "done" | "lost",
  turn: TurnId | null,
): Promise<void> {
  const ids: MessageId[] = messages.map((message) => message.id);
  await tx.messages.setStatus(ids, status, turn);
}
