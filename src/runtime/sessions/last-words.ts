/** What an agent said last, also in a turn that never ended. */
import type { SessionId } from "../../contract/ids.ts";
import type { EventReads } from "../../store/store.ts";

const mostParts = 100;

/** The session's whole last message so far, or null when it has said nothing. */
export async function lastWords(from: { readonly events: EventReads }, session: SessionId): Promise<string | null> {
  const events = await from.events.list({ session, types: ["turn.text"], limit: mostParts, from: "newest" });
  const said = events.flatMap((event) => (event.type === "turn.text" ? [event.data] : []));
  const last = said.at(-1);
  if (last === undefined) return null;
  // A message may come in several parts, with tool calls between them.
  const parts = said.filter((part) => part.turn === last.turn && part.message === last.message);
  return parts.map((part) => part.text).join("\n\n");
}
