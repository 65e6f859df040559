/**
 * Recovers turns that a crash left without an end. Their messages become pending again. Messages that were never
 * delivered are sent as if for the first time; for the others `interrupted-turn.ts` decides once their conversation is open again.
 */
import type { MessageId, TurnId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { StoreTx, TurnRow } from "@aegis/store/store.ts";
import { joinedLater } from "./interrupted-turn.ts";
import { wholeWords } from "./last-text.ts";

/**
 * Counts of messages: `redelivered` were never delivered to a harness, `undecided` were, `lost` belonged to a closed
 * session.
 */
export type RecoveredTurns = { turns: number; redelivered: number; undecided: number; lost: number };

const cutReason = "Aegis stopped while this turn was running";

type RecoveredTurn = Omit<RecoveredTurns, "turns">;

/** Ends every open turn of the node as `lost`. Idempotent. */
export async function recoverTurnsIn(tx: StoreTx, node: string | null, clock: Clock): Promise<RecoveredTurns> {
  let total = nothing;
  for (const turn of await tx.turns.open(node)) total = plus(total, await recoverTurn(tx, turn, clock));
  return total;
}

const nothing: RecoveredTurns = { turns: 0, redelivered: 0, undecided: 0, lost: 0 };

function plus(total: RecoveredTurns, { redelivered, undecided, lost }: RecoveredTurn): RecoveredTurns {
  return {
    turns: total.turns + 1,
    redelivered: total.redelivered + redelivered,
    undecided: total.undecided + undecided,
    lost: total.lost + lost,
  };
}

async function recoverTurn(tx: StoreTx, turn: TurnRow, clock: Clock): Promise<RecoveredTurn> {
  const none = { redelivered: 0, undecided: 0, lost: 0 };
  const now = clock.now();
  const error = { code: "restart", message: cutReason };
  await recordUnfinished(tx, turn, now);
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
  const session = await tx.sessions.get(turn.session);
  const messages = [...(await tx.messages.inTurn(turn.id)), ...(await offeredTo(tx, turn))];
  if (!session || session.closed_at !== null) {
    await setStatus(tx, messages, "lost", turn.id);
    return { ...none, lost: messages.length };
  }
  await tx.sessions.update(session.id, { state: "ready", error: null });
  await tx.events.append({ type: "session.state", session: session.id, data: { state: "ready", error: null } }, now);
  if (messages.length === 0) return none;
  if (turn.handed_over.length > 0) {
    await setStatus(tx, messages, "pending", turn.id);
    return { ...none, undecided: messages.length };
  }
  const joined = await joinedLater(tx, turn.session, turn.id);
  const [later, batch] = [messages.filter(({ id }) => joined.has(id)), messages.filter(({ id }) => !joined.has(id))];
  // They keep the id of the interrupted turn, so that they form one batch again.
  await setStatus(tx, batch, "pending", turn.id);
  await setStatus(tx, later, "pending", null);
  for (const message of messages) {
    await tx.events.append({ type: "message.redelivered", session: session.id, data: { message: message.id } }, now);
  }
  return { ...none, redelivered: messages.length };
}

/** Messages that were about to join the turn: the harness may have them but has not confirmed it. */
async function offeredTo(tx: StoreTx, turn: TurnRow): Promise<Message[]> {
  const offered: Message[] = [];
  for (const id of new Set(turn.handed_over.flatMap(({ joined }) => joined ?? []))) {
    const message = await tx.messages.get(id);
    if (message?.status === "pending" && message.turn === null) offered.push(message);
  }
  return offered;
}

/** Streaming text is only in the turn's row: an event shows it to later readers of the conversation. */
async function recordUnfinished(tx: StoreTx, turn: TurnRow, now: number): Promise<void> {
  const whole = await wholeWords(tx, turn.session, turn.id);
  if (turn.text === "" || turn.text === whole) return;
  // The row joins the parts of one message.
  const text = whole !== null && turn.text.startsWith(whole) ? turn.text.slice(whole.length).trimStart() : turn.text;
  const data = { turn: turn.id, message: `${turn.id}/unfinished`, text };
  await tx.events.append({ type: "turn.text", session: turn.session, data }, now);
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
