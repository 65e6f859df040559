/**
 * Compares a harness's record of a conversation with the prompts that were sent. Prompts are compared by length and
 * digest, so their text need not be stored for this.
 */
import { printLength, printOf } from "@aegis/lib/text-digest.ts";
import type { HandOvers, Holding, ResumeOutcome, SentPrompt } from "./driver.ts";

/** A new conversation: the harness knows nothing of the prompts of another one. */
export const begunAnew: ResumeOutcome = { conversation: false, holds: async () => "no" };

/**
 * A resumed conversation. `read` returns the user messages of the harness's record, or null if there is none to read.
 */
export function restoredWith(read: () => Promise<readonly string[] | null>): ResumeOutcome {
  return { conversation: true, holds: async (prompts) => recordHolds(await read(), prompts) };
}

/**
 * Whether the record contains one of the deliveries. `record` holds texts in order; one message may consist of several.
 * A record in which no prompt can be recognised proves nothing: the harness may rewrite prompts, or show none.
 */
export function recordHolds(record: readonly string[] | null, { prompts, earlier }: HandOvers): Holding {
  if (record === null) return "unknown";
  const count = counter(record);
  const wanted = new Set(prompts.map(({ print }) => print));
  const found = sum([...wanted].map(count));
  const before = earlier.filter((print) => wanted.has(print)).length;
  if (found > before) return "yes";
  // The same text was sent before, and the record does not show which of the prompts it contains.
  if (found > 0) return "unknown";
  return prompts.every(isReadable) && earlier.some((print) => count(print) > 0) ? "no" : "unknown";
}

const isReadable = ({ print }: SentPrompt) => printLength(print) > 0;

/** Counts how often a text with the print ends where a piece of the record ends. */
function counter(record: readonly string[]): (print: string) => number {
  const whole = record.join("");
  const ends: number[] = [];
  let at = 0;
  for (const piece of record) {
    at += piece.length;
    ends.push(whole.slice(0, at).trimEnd().length);
  }
  const places = [...new Set(ends)];
  return (print) => {
    const length = printLength(print);
    if (length === 0) return 0;
    return places.filter((end) => end >= length && printOf(whole.slice(end - length, end)) === print).length;
  };
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, one) => total + one, 0);
}
