/** Decides whether a write is based on the current content of a file. */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { FileChange } from "@aegis/drivers/driver.ts";
import type { FileWriteRow } from "@aegis/store/store.ts";
import { absent, type Content } from "./ledger.ts";

export type Base = {
  session: SessionId;
  now: Content;
  /** The hash of the content that the session knows, or null. */
  known: string | null;
  writer: FileWriteRow | null;
};

/** `unread`: another session wrote the file, and this one has not read it since. */
export type Mismatch = "changed" | "unread" | "deleted";

/** Null if the change may be made. */
export function mismatch(change: FileChange, { session, now, known, writer }: Base): Mismatch | null {
  // Hunks apply only where their context is found.
  if ("patch" in change || now.hash === known) return null;
  if (change.part === true)
    return known !== null && now.hash !== absent && !occurs(change.before, now) ? "changed" : null;
  if (now.hash === absent) return known === null || change.after === null ? null : "deleted";
  if (typeof change.before === "string" && change.before === now.text) return null;
  if (known !== null) return "changed";
  if (typeof change.before === "string" && !occurs(change.before, now)) return "changed";
  if (writer === null) return null;
  if (writer.session !== session) return "unread";
  // The daemon was restarted since: its own last write is all that it knows.
  return writer.hash === now.hash ? null : "changed";
}

/** A text that is not known may contain anything. */
function occurs(part: string | null | undefined, { text }: Content): boolean {
  return typeof part !== "string" || text === null || text.includes(part);
}
