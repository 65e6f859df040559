/**
 * Notifies agents that their message will not be answered: a plugin blocked it, a crash lost it, or its session was
 * closed. People, queues, runs and groups learn this from the end of the turn or of the session.
 */
import { isAegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { SessionRow, StoreTx } from "@aegis/store/store.ts";
import type { Inbox } from "./inbox/inbox.ts";

/** The messages of a session that was closed. Returns the notified sessions, to be woken after the commit. */
export async function tellRefused(
  tx: StoreTx,
  inbox: Inbox,
  session: SessionRow,
  messages: readonly Message[],
): Promise<SessionId[]> {
  const told: SessionId[] = [];
  for (const message of messages) {
    const body = `Your message ${message.id} to "${session.handle}" was refused: that session was closed before reading it.`;
    const sender = await tellSender(tx, inbox, message, body);
    if (sender !== null) told.push(sender);
  }
  return told;
}

/** The messages of a turn. Returns the notified sessions, to be woken after the commit. */
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
    const sender = await liveSender(tx, message);
    if (sender === null) continue;
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

/** Notifies the agent that sent a message. Returns its session; null for other senders, who see the event. */
export async function tellSender(
  tx: StoreTx,
  inbox: Pick<Inbox, "admitIn">,
  message: Message,
  body: string,
): Promise<SessionId | null> {
  const sender = await liveSender(tx, message);
  if (sender !== null) await inbox.admitIn(tx, { session: sender.id, sender: { kind: "substrate" }, body });
  return sender?.id ?? null;
}

/** The session of the agent that sent the message; null for other senders and for a closed session. */
async function liveSender(tx: StoreTx, { sender }: Message): Promise<SessionRow | null> {
  const session = sender.kind === "agent" ? await tx.sessions.get(sender.session) : null;
  return session?.closed_at === null ? session : null;
}
