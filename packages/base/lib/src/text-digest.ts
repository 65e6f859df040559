/** Identifies a text where the text itself is not stored. */
import { createHash } from "node:crypto";

export function textDigest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/**
 * Identifies a text by its length and digest, so that it can be found inside other texts. Leading and trailing white
 * space is ignored.
 */
export function printOf(text: string): string {
  const trimmed = text.trim();
  return `${trimmed.length}:${textDigest(trimmed)}`;
}

/** Returns the length of the text, or 0 for an empty print. */
export function printLength(print: string): number {
  return Number(print.split(":", 1)[0] ?? 0);
}
