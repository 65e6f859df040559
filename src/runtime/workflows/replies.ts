/** What became of a message that a run sent. */
import type { MessageId, SessionId } from "../../contract/ids.ts";
import { WorkflowError } from "../../plugin-api/errors.ts";
import type { StoreReads, TurnRow } from "../../store/store.ts";

/** Turns of a session that are looked at for the one that went on after a cut. */
const mostTurns = 50;

/** The whole reply, or null while there is none. Throws `WorkflowError` when there will be none. */
export async function replyTo(read: StoreReads, id: MessageId, session: SessionId): Promise<string | null> {
  const message = await read.messages.get(id);
  const row = await read.sessions.get(session);
  const who = row?.handle ?? session;
  if (!message || message.status === "pending" || message.status === "dispatched") return null;
  if (message.status !== "done") throw new WorkflowError(`${who} never answered: the message was ${message.status}`);
  if (message.turn === null) return "";
  const first = await read.turns.get(message.turn);
  const turn = first?.reason === "lost" ? await nextTurn(read, first) : first;
  if (!turn) {
    if (row?.closed_at === null) return null;
    throw new WorkflowError(`${who} was closed before it had answered`);
  }
  return turn.ended_at === null ? null : textOf(turn, who);
}

/** A session whose turn was cut by a stop is told to go on: its answer is in the turn after. */
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
