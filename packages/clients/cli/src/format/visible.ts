/** Makes text safe for a person's decision: nothing in it can control the terminal, hide, or reorder the text. */
import { displayWidth } from "./text.ts";

/**
 * Control characters, format characters (including zero-width and bidirectional ones), private, unassigned and lone
 * surrogate code points, separators other than the plain space, variation selectors, and letters without a glyph.
 */
const unseen = /(?![\n\t ])(?:[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Z}]|\p{Default_Ignorable_Code_Point}|\u2800)/gu;

/** What can control a terminal or change the direction of its text. A return outside a line end rewrites the line. */
const driving = /\r(?!\n)|(?![\r\n\t])\p{Cc}|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Replaces only what could drive the terminal; joiners and other invisible characters of ordinary text stay. */
export function harmless(text: string): string {
  return text.replace(driving, shown);
}

/** Replaces each invisible character with its code point, as in `⟨U+202E⟩`. Keeps line breaks and tabs. */
export function visible(text: string): string {
  return text.replace(unseen, shown);
}

function shown(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `⟨U+${code}⟩`;
}

/** The same on one line; a line break becomes `⏎`. */
export function visibleLine(text: string): string {
  return visible(text.trim().replace(/\s*\n\s*/g, " ⏎ ")).replaceAll("\t", " ");
}

/** The line if it fits, or its beginning and how much is missing. Never truncates silently. */
export function fitLine(line: string, width: number, where: string): string {
  if (displayWidth(line) <= width) return line;
  const characters = [...line];
  const note = (kept: number) => `… (${characters.length - kept} more characters: ${where})`;
  let kept = Math.min(characters.length, Math.max(10, width - note(0).length));
  while (kept > 10 && displayWidth(characters.slice(0, kept).join("") + note(kept)) > width) kept -= 1;
  const cut = characters.slice(0, kept).join("") + note(kept);
  return displayWidth(cut) < displayWidth(line) ? cut : line;
}
