/** Finds the last message of an agent, including turns that were interrupted or never ended. */
import type { SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { EventReads, StoreReads } from "@aegis/store/store.ts";

const mostParts = 100;

/** `from` may be a transaction. */
export type LastText = (from: Pick<StoreReads, "events" | "turns">, session: SessionId) => Promise<string | null>;

/**
 * The stored part of the session's last message, or null if there is none. `Sessions.lastText` includes streaming
 * text.
 */
export const lastText: LastText = async (from, session) => {
  const [turn] = await from.turns.list(session, 1);
  if (turn !== undefined && turn.text !== "") return turn.text;
  return wholeWords(from, session, null);
};

/** The complete parts of the last message, of one turn or of any; null if there is none. */
export async function wholeWords(
  from: { readonly events: EventReads },
  session: SessionId,
  turn: TurnId | null,
): Promise<string | null> {
  const events = await from.events.list({ session, types: ["turn.text"], limit: mostParts, from: "newest" });
  const said = events.flatMap((event) => (event.type === "turn.text" ? [event.data] : []));
  const last = said.at(-1);
  if (last === undefined || (turn !== null && last.turn !== turn)) return null;
  // A message may have several parts, with tool calls between them.
  const parts = said.filter((part) => part.turn === last.turn && part.message === last.message);
  return parts.map((part) => part.text).join("\n\n");
}
