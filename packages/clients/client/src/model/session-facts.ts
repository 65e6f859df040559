/** What events change in a session and in the list of open asks. The board and `reduce` use it. */
import type { Ask } from "@aegis/contract/ask.ts";
import type { Event, EventOf } from "@aegis/contract/event.ts";
import type { Session } from "@aegis/contract/session.ts";

/** The fields of the session of an event that the event changes; null if it changes none. */
export function changeOfSession(event: Event): Partial<Session> | null {
  switch (event.type) {
    case "session.renamed":
      return { handle: event.data.handle };
    case "session.titled":
      return { title: event.data.title, title_source: event.data.source };
    case "session.agent": {
      const { agent, harness, offline } = event.data;
      return { agent, harness, offline };
    }
    case "session.state":
      return { state: event.data.state, error: event.data.error };
    case "session.closed":
      return { state: "closed", closed_at: event.at };
    case "session.moved":
      return { node: event.data.node };
    default:
      return null;
  }
}

export type AskEvent = EventOf<"ask.opened" | "ask.settled">;

/** Open asks after an event, oldest first. A client may have read an ask from a list before its event arrives. */
export function asksAfter(asks: readonly Ask[], event: AskEvent): readonly Ask[] {
  const id = event.type === "ask.opened" ? event.data.ask.id : event.data.ask;
  const others = asks.filter((ask) => ask.id !== id);
  return event.type === "ask.opened" ? [...others, event.data.ask] : others;
}
