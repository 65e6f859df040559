/**
 * Determines whether a session's agent still remembers earlier turns. What counts is what happened when its
 * conversation was opened: a harness that can resume conversations may have lost this one.
 */
import type { SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { StoreReads, StoreTx } from "@aegis/store/store.ts";

/** The number of turns searched for one that was delivered to a harness. */
const mostTurns = 20;

/** Records that the session's conversation starts without memory. Records nothing if no harness had any of it. */
export async function recordMemoryLoss(tx: StoreTx, session: SessionId, clock: Clock): Promise<void> {
  const turns = await tx.turns.list(session, mostTurns);
  const hadSome = turns.some(({ accepted, reason, handed_over }) => {
    return accepted || reason === "completed" || handed_over.length > 0;
  });
  if (hadSome) await tx.events.append({ type: "session.memory_lost", session, data: {} }, clock.now());
}

/** The number of events searched for a turn. */
const mostEvents = 500;

/**
 * True if the conversation was lost after the last completed turn: of all turns, or of those with a message from one
 * sender.
 */
export async function hasForgotten(
  read: Pick<StoreReads, "events" | "messages">,
  session: SessionId,
  sender: SessionId | null = null,
): Promise<boolean> {
  const types: ["session.memory_lost", "turn.ended"] = ["session.memory_lost", "turn.ended"];
  const events = await read.events.list({ session, types, limit: mostEvents, from: "newest" });
  for (const event of events.toReversed()) {
    if (event.type === "session.memory_lost") return true;
    if (event.type !== "turn.ended" || event.data.reason !== "completed") continue;
    if (sender === null || (await hasMessageOf(read, event.data.turn, sender))) return false;
  }
  return false;
}

async function hasMessageOf(read: Pick<StoreReads, "messages">, turn: TurnId, sender: SessionId): Promise<boolean> {
  const messages = await read.messages.inTurn(turn);
  return messages.some((message) => message.sender.kind === "agent" && message.sender.session === sender);
}
