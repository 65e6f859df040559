/** Events of a session that are hints to look again. Stored rows decide; an unnecessary look does no harm. */
import type { Event } from "@aegis/contract/event.ts";

/** After these a message to the session may have its answer, or will never have one. */
export const answerEvents: ReadonlySet<Event["type"]> = new Set<Event["type"]>([
  "turn.ended",
  "session.closed",
  "message.cancelled",
  "message.lost",
]);

/** After these the session may have finished its work. The end of a subagent is an event of its parent. */
export const endEvents: ReadonlySet<Event["type"]> = new Set<Event["type"]>([
  ...answerEvents,
  "ask.settled",
  "subagent.ended",
]);
