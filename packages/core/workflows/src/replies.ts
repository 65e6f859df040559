/** Finds the reply to a message that a run sent. */
import type { MessageId, SessionId, TurnId } from "@aegis/contract/ids.ts";
import { WorkflowError } from "@aegis/plugin-api/errors.ts";
import type { StoreReads, TurnRow } from "@aegis/store/store.ts";

/** The number of turns searched for the one that continued an interrupted turn. */
const mostTurns = 50;

/** The turn is null if the message was settled without one. */
export type AgentReply = { text: string; turn: TurnId | null };

/** The complete reply, or null while it is pending. Throws `WorkflowError` if there will be none. */
export async function replyTo(read: StoreReads, id: MessageId, session: SessionId): Promise<AgentReply | null> {
  const message = await read.messages.get(id);
  const row = await read.sessions.get(session);
  const who = row?.handle ?? session;
  if (!message || message.status === "pending" || message.status === "dispatched") return null;
  if (message.status !== "done") throw new WorkflowError(`${who} never answered: the message was ${message.status}`);
  if (message.turn === null) return { text: "", turn: null };
  const first = await read.turns.get(message.turn);
  const turn = first?.reason === "lost" ? await nextTurn(read, first) : first;
  if (!turn) {
    if (row?.closed_at === null) return null;
    throw new WorkflowError(`${who} was closed before it had answered`);
  }
  return turn.ended_at === null ? null : { text: textOf(turn, who), turn: turn.id };
}

/** A session whose turn was interrupted by a stop is asked to continue: its answer is in the next turn. */
async function nextTurn(read: StoreReads, lost: TurnRow): Promise<TurnRow | null> {
  const turns = (await read.turns.list(lost.session, mostTurns)).reverse();
  const place = turns.findIndex((turn) => turn.id === lost.id);
  return turns.slice(place + 1).find((turn) => turn.reason !== "lost") ?? null;
}

function textOf(turn: TurnRow, who: string): string {
  if (turn.reason === "completed" || turn.reason === "truncated") return turn.text;
  const why = turn.error?.message ?? `its turn was ${turn.reason}`;
  throw new WorkflowError(`${who} did not answer: ${why}`, { details: { reason: turn.reason, text: turn.text } });
}
