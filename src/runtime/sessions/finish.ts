/** The end of a turn: its event, its row, its messages, the session's state and whom to tell, in one transaction. */
import type { SessionId, TurnId } from "../../contract/ids.ts";
import type { Message } from "../../contract/message.ts";
import type { TurnEnded } from "../../drivers/driver.ts";
import type { Clock } from "../../lib/clock.ts";
import type { SessionRow, StoreTx } from "../../store/store.ts";

/** Tells senders that their messages were kept from the agent, and gives those who have a message now. */
export type TellBlocked = (
  tx: StoreTx,
  session: SessionRow,
  messages: readonly Message[],
  reason: string,
) => Promise<readonly SessionId[]>;

export type FinishOptions = { clock: Clock; tellBlocked: TellBlocked };

/** Gives the sessions to wake after the commit. */
export async function finishTurn(
  tx: StoreTx,
  { session, turn, messages }: { session: SessionId; turn: TurnId; messages: readonly Message[] },
  { reason, error, usage, text }: TurnEnded & { text: string },
  { clock, tellBlocked }: FinishOptions,
): Promise<readonly SessionId[]> {
  const at = clock.now();
  const event = await tx.events.append({ type: "turn.ended", session, data: { turn, reason, error, text, usage } }, at);
  await tx.turns.end(turn, { at, reason, error, text, usage, seq: event.seq });
  await tx.messages.setStatus(
    messages.map((message) => message.id),
    "done",
    turn,
  );
  const row = await tx.sessions.get(session);
  if (!row) return [];
  const told = error?.code === "blocked" ? await tellBlocked(tx, row, messages, error.message) : [];
  if (row.closed_at !== null) return told;
  const failed = reason === "failed";
  if (!failed && (await tx.messages.countPending(session)) > 0) return told;
  const state = failed ? "error" : "ready";
  const problem = failed ? (error?.message ?? "the turn failed") : null;
  await tx.sessions.update(session, { state, error: problem });
  await tx.events.append({ type: "session.state", session, data: { state, error: problem } }, at);
  return told;
}
