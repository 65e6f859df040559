/**
 * Notifies agents that their message will not be answered because a plugin blocked it or a crash lost it. People,
 * queues, runs and groups learn it from the end of the turn.
 */
import { isAegisError } from "../../contract/errors.ts";
import type { SessionId } from "../../contract/ids.ts";
import type { Message } from "../../contract/message.ts";
import type { SessionRow, StoreTx } from "../../store/store.ts";
import type { Inbox } from "../inbox/inbox.ts";

/** Returns the notified sessions, to be woken after the commit. */
export async function tellUnanswered(
  tx: StoreTx,
  inbox: Inbox,
  session: SessionRow,
  messages: readonly Message[],
  { was, reason }: { was: "blocked" | "lost"; reason: string },
): Promise<SessionId[]> {
  const lease = (await tx.pool.get(session.id))?.lease ?? null;
  const told: SessionId[] = [];
  for (const message of messages) {
    if (message.sender.kind !== "agent") continue;
    const sender = await tx.sessions.get(message.sender.session);
    if (sender === null || sender.closed_at !== null) continue;
    // A sender that waits for the answer itself, as a parent or with a lease, gets the reason there.
    if (session.parent === sender.id || lease?.holder === sender.id) continue;
    const body = `Your message ${message.id} to "${session.handle}" was ${was}: ${reason}`;
    try {
      await inbox.admitIn(tx, { session: sender.id, sender: { kind: "substrate" }, body, cause: message });
      told.push(sender.id);
    } catch (error) {
      // Two agents that only block each other stop at the hop limit.
      if (!isAegisError(error) || error.code !== "too_many") throw error;
    }
  }
  return told;
}
