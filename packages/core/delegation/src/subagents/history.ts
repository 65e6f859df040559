/** Renders a subagent's conversation as text, short enough for the agent that started it. */
import type { Event } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { EventReads } from "@aegis/store/store.ts";

const historyMaxChars = 10_000;
/** More would be truncated. */
const mostEvents = 500;
const longestCall = 200;
const cutNote = "[older part cut]\n\n";

/** Returns the newest part that fits. */
export async function historyOf(from: { readonly events: EventReads }, session: SessionId): Promise<string> {
  const events = await from.events.list({
    session,
    types: ["message.admitted", "turn.text", "turn.tool_call", "turn.ended"],
    limit: mostEvents,
    from: "newest",
  });
  const text = events.flatMap((event) => lineOf(event) ?? []).join("\n\n");
  if (events.length < mostEvents && text.length <= historyMaxChars)
    return text === "" ? "(nothing was said yet)" : text;
  return `${cutNote}${text.slice(Math.max(0, text.length - historyMaxChars + cutNote.length)).toWellFormed()}`;
}

function lineOf(event: Event): string | null {
  switch (event.type) {
    case "message.admitted":
      return `user: ${event.data.message.body}`;
    case "turn.text":
      return `assistant: ${event.data.text}`;
    case "turn.tool_call": {
      const title = event.data.title === "" ? event.data.name : event.data.title;
      return `tool: ${title.slice(0, longestCall)}`;
    }
    case "turn.ended":
      return event.data.reason === "completed" ? null : `(the turn ended: ${event.data.reason})`;
    default:
      return null;
  }
}
