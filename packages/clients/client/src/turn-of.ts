/** Relates the events of a session to a message. */
import type { Event } from "@aegis/contract/event.ts";
import type { MessageId, TurnId } from "@aegis/contract/ids.ts";

/** The turn that takes the message with this event, or null. */
export function turnOf(event: Event, message: MessageId): TurnId | null {
  if (event.type === "turn.started" && event.data.messages.includes(message)) return event.data.turn;
  if (event.type === "message.steered" && event.data.message === message) return event.data.turn;
  return null;
}
