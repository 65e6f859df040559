/**
 * Tells a session the end of the work that it asked for, in the transaction that writes the end. So each end is told
 * exactly once, even across a crash. Agents write the text, so it is repaired and truncated instead of refused.
 */
import { isAegisError } from "@aegis/contract/errors.ts";
import type { MessageId, SessionId } from "@aegis/contract/ids.ts";
import { type Message, messageMaxBytes } from "@aegis/contract/message.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import type { StoreTx } from "@aegis/store/store.ts";

export type TellOptions = { inbox: Inbox; maxHops: () => number };

export type EndOfWork = {
  /** Repeating the call with the same id sends nothing. */
  id?: MessageId | undefined;
  asker: SessionId;
  sender: Message["sender"];
  body: string;
  /** What the note about a truncated body says. */
  cutNote: (bytes: number) => string;
  /** The request for the work; `chain` is null if no message of a session caused it. */
  request: { chain: MessageId | null; hops: number };
};

/** Null if the asker is closed or gone. Wake it after the commit. */
export async function tellAsker(tx: StoreTx, end: EndOfWork, { inbox, maxHops }: TellOptions): Promise<Message | null> {
  const { id, asker, sender, body, cutNote, request } = end;
  const { chain, hops } = request;
  try {
    const { message } = await inbox.admitIn(tx, {
      id,
      session: asker,
      sender,
      body: fittingBody(body, cutNote),
      // The answer to an accepted request is never refused because of its hop count.
      cause: chain === null ? undefined : { chain, hops: Math.min(hops + 1, maxHops() - 1) },
    });
    return message;
  } catch (error) {
    if (isAegisError(error) && (error.code === "closed" || error.code === "not_found")) return null;
    throw error;
  }
}

/** Text that an inbox accepts and every store keeps as it is. */
function fittingBody(text: string, cutNote: EndOfWork["cutNote"]): string {
  const clean = text.replaceAll("\0", "\uFFFD").toWellFormed();
  const bytes = Buffer.from(clean);
  if (bytes.length <= messageMaxBytes) return clean;
  const note = `\n[cut: ${cutNote(bytes.length)}]`;
  const kept = bytes.subarray(0, messageMaxBytes - Buffer.byteLength(note) - 4).toString("utf8");
  return `${kept.replace(/\uFFFD+$/, "")}${note}`;
}
