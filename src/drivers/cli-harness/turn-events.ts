/** The events of one turn, between the driver that reads them from a harness and the runtime that stores them. */
import { AsyncQueue } from "../../lib/async-queue.ts";
import { sizeOf } from "../../lib/cut-text.ts";
import type { DriverEvent } from "../driver.ts";

/** In characters, approximately. The harness is not read while this much waits to be stored. */
const mostWaiting = 1024 * 1024;
/** While this much waits, text deltas are merged up to this length. */
const mergeFrom = 16 * 1024;
const longestPiece = 16 * 1024;
const eventWeight = 64;

export class TurnEvents extends AsyncQueue<DriverEvent> {
  constructor() {
    super({ weigh, most: mostWaiting, merge, mergeFrom });
  }
}

function weigh(event: DriverEvent): number {
  const text = event.type === "text_delta" || event.type === "thinking_delta" ? event.text.length : sizeOf(event);
  return eventWeight + text;
}

/** Merging keeps the same text in the same order. */
function merge(before: DriverEvent, after: DriverEvent): DriverEvent | null {
  if (before.type !== "text_delta" && before.type !== "thinking_delta") return null;
  if (after.type !== before.type || after.message !== before.message) return null;
  if (before.text.length + after.text.length > longestPiece) return null;
  return { ...before, text: before.text + after.text };
}
