/**
 * Finds the messages that an agent has but did not answer: those of directly preceding turns that were interrupted or
 * failed.
 */
import type { SessionId } from "../../contract/ids.ts";
import type { Message } from "../../contract/message.ts";
import type { StoreTx } from "../../store/store.ts";

/** More interrupted turns in a row are not searched. */
const mostUnanswered = 20;

export async function unansweredMessages(tx: StoreTx, session: SessionId): Promise<Message[]> {
  const [last] = await tx.turns.list(session, 1);
  if (last === undefined || last.reason === "completed") return [];
  const recent = await tx.turns.list(session, mostUnanswered);
  const answered = recent.findIndex(({ reason }) => reason === "completed");
  const cut = answered === -1 ? recent : recent.slice(0, answered);
  const messages = await tx.messages.inTurns(cut.map(({ id }) => id));
  // A lost message is also missing from the agent's memory.
  return messages.filter(({ status }) => status === "done");
}
