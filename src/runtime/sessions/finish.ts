/** Ends a turn in one transaction: its event, its row, its messages, the session's state and the notices. */
import type { SessionId, TurnId } from "../../contract/ids.ts";
import type { Message } from "../../contract/message.ts";
import type { TurnEnded } from "../../drivers/driver.ts";
import type { Clock } from "../../lib/clock.ts";
import type { SessionRow, StoreTx } from "../../store/store.ts";

/** Notifies senders that their messages will not be answered. Returns the sessions that got a message. */
export type TellUnanswered = (
  tx: StoreTx,
  session: SessionRow,
  messages: readonly Message[],
  fate: { was: "blocked" | "lost"; reason: string },
) => Promise<readonly SessionId[]>;

export type FinishOptions = { clock: Clock; tellUnanswered: TellUnanswered };

/** Returns the sessions to wake after the commit. */
export async function finishTurn(
  tx: StoreTx,
  { session, turn, messages }: { session: SessionId; turn: TurnId; messages: readonly Message[] },
  { reason, error, usage, text }: TurnEnded & { text: string },
  { clock, tellUnanswered }: FinishOptions,
): Promise<readonly SessionId[]> {
  const at = clock.now();
  const event = await tx.events.append({ type: "turn.ended", session, data: { turn, reason, error, text, usage } }, at);
  await tx.turns.end(turn, { at, reason, error, text, usage, seq: event.seq });
  const isLost = error?.code === "lost";
  await tx.messages.setStatus(
    messages.map((message) => message.id),
    isLost ? "lost" : "done",
    turn,
  );
  if (isLost)
    for (const { id } of messages)
      await tx.events.append({ type: "message.lost", session, data: { message: id, reason: error.message } }, at);
  const row = await tx.sessions.get(session);
  if (!row) return [];
  const was = isLost ? "lost" : error?.code === "blocked" ? "blocked" : null;
  const told =
    was === null ? [] : await tellUnanswered(tx, row, messages, { was, reason: error?.message ?? "no reason given" });
  if (row.closed_at !== null) return told;
  const failed = reason === "failed";
  if (!failed && (await tx.messages.countPending(session)) > 0) return told;
  const state = failed ? "error" : "ready";
  const problem = failed ? (error?.message ?? "the turn failed") : null;
  await tx.sessions.update(session, { state, error: problem });
  await tx.events.append({ type: "session.state", session, data: { state, error: problem } }, at);
  return told;
}
