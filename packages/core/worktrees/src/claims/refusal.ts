/** The texts that tell an agent why it may not write a file. */
import { cutText } from "@aegis/lib/cut-text.ts";
import { unifiedDiff } from "@aegis/lib/unified-diff.ts";
import type { Mismatch } from "./compare.ts";
import type { HoldRefusal } from "./holds.ts";

const longestDiff = 4_096;

export type StaleFile = {
  path: string;
  why: Mismatch;
  /** The handle of the session that made the present content, or null if no file tool of a session did. */
  by: string | null;
  /** What the session knew; null if that is not kept. */
  before: string | null;
  /** The present text; null if it is not kept or there is none. */
  after: string | null;
};

export function staleText({ path, why, by, before, after }: StaleFile): string {
  const who = by === null ? "outside the sessions' file tools (a person or a command)" : `by ${by}`;
  if (why === "deleted") return `${path} was deleted since you read it. Check whether it is still needed.`;
  if (why === "unread") return `${path} was written ${who} and you have not read it since. Read it, then write again.`;
  const diff = before === null || after === null ? [] : unifiedDiff(before, after);
  const shown = diff.length === 0 ? "" : ` What changed:\n${cutText(diff.join("\n"), longestDiff)}`;
  return `${path} was changed ${who} since you read it. Read it again, then apply your change to it; aegis_claim keeps others from it meanwhile.${shown}`;
}

export function heldText({ why, path }: HoldRefusal, holder: string): string {
  if (why === "limit") return "This session claims too many files. Release some with aegis_release.";
  if (why === "circle")
    return `${path} is claimed by ${holder}, which waits for a file that you have claimed. Release your claims with aegis_release, then try again.`;
  return `${path} is claimed by ${holder}. Work on something else first, or ask ${holder} to release it.`;
}
