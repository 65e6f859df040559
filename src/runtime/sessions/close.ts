/** Closes a session inside a transaction: what waits is refused, and those who sent it are told. */
import type { MessageId, SessionId } from "../../contract/ids.ts";
import type { Message } from "../../contract/message.ts";
import type { Clock } from "../../lib/clock.ts";
import type { SessionRow, StoreTx } from "../../store/store.ts";
import type { Inbox } from "../inbox/inbox.ts";
import { tellSender } from "./recover.ts";
import { liveRow } from "./rows.ts";

/** What a close inside a transaction leaves to do after the commit. */
export type Closed = { id: SessionId; refused: MessageId[]; told: SessionId[] };

export type CloseOptions = {
  reason: string;
  /** Learns of refused messages elsewhere. */
  informed: SessionId | null;
  inbox: Inbox;
  clock: Clock;
};

export async function closeSession(
  tx: StoreTx,
  id: SessionId,
  { reason, informed, inbox, clock }: CloseOptions,
): Promise<Closed> {
  const row = await liveRow(tx, id);
  const waiting = await tx.messages.list(id, { status: "pending" });
  const refused = waiting.map((message) => message.id);
  const now = clock.now();
  await tx.messages.setStatus(refused, "refused", null);
  await tx.sessions.update(id, { state: "closed", error: null, closed_at: now });
  await tx.events.append({ type: "session.closed", session: id, data: { reason, refused } }, now);
  const toTell = waiting.filter(({ sender }) => sender.kind !== "agent" || sender.session !== informed);
  return { id, refused, told: await tellRefused(tx, row, toTell, inbox) };
}

async function tellRefused(
  tx: StoreTx,
  row: SessionRow,
  waiting: readonly Message[],
  inbox: Inbox,
): Promise<SessionId[]> {
  const told: SessionId[] = [];
  for (const message of waiting) {
    const text = `Your message ${message.id} to "${row.handle}" was refused: that session was closed before reading it.`;
    const sender = await tellSender(tx, message, text, inbox);
    if (sender) told.push(sender);
  }
  return told;
}
