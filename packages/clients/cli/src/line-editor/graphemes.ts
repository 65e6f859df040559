/** Finds the boundaries of graphemes, and the number of terminal cells that each one needs. */
import { displayWidth } from "../format/text.ts";

/** No character in use is longer; looking further would slow down each key press in a large text. */
const longest = 100;

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** The first grapheme at an offset; empty at the end of the text. */
export function graphemeAt(text: string, offset: number): string {
  const code = text.charCodeAt(offset);
  const next = text.charCodeAt(offset + 1);
  if (isPlain(code) && (Number.isNaN(next) || isPlain(next) || next === 0x0a)) return text.charAt(offset);
  for (const { segment } of graphemes.segment(text.slice(offset, offset + longest))) return segment;
  return "";
}

/** All graphemes of a range of the text. */
export function* graphemesIn(text: string, from: number, to: number): Generator<string> {
  const part = text.slice(from, to);
  if (/^[\x20-\x7e\t]*$/.test(part)) yield* part;
  else for (const { segment } of graphemes.segment(part)) yield segment;
}

/** Where the grapheme before an offset begins. */
export function graphemeBefore(text: string, offset: number): number {
  if (offset === 0) return 0;
  const from = Math.max(0, offset - longest);
  let start = from;
  for (const { index } of graphemes.segment(text.slice(from, offset))) start = from + index;
  return start;
}

/** A tab has a fixed width, because its screen column depends on the prompt. */
export const tab = "    ";

export function graphemeWidth(grapheme: string): number {
  if (grapheme === "\t") return tab.length;
  if (grapheme.length === 1 && isPlain(grapheme.charCodeAt(0))) return 1;
  // The emoji variant of a character, or a flag, which consists of two letters.
  if (/\ufe0f|^[\u{1f1e6}-\u{1f1ff}]{2}/u.test(grapheme)) return 2;
  return Math.min(2, displayWidth(grapheme));
}

function isPlain(code: number): boolean {
  return code >= 0x20 && code < 0x7f;
}

const wordCharacter = /[\p{L}\p{N}\p{M}_]/u;

/** Where the word before an offset begins. */
export function wordBefore(text: string, offset: number): number {
  let at = offset;
  const step = (isWord: boolean) => {
    while (at > 0) {
      const before = graphemeBefore(text, at);
      if (wordCharacter.test(text.slice(before, at)) !== isWord) return;
      at = before;
    }
  };
  step(false);
  step(true);
  return at;
}

/** Where the word after an offset ends. */
export function wordAfter(text: string, offset: number): number {
  let at = offset;
  const step = (isWord: boolean) => {
    while (at < text.length) {
      const grapheme = graphemeAt(text, at);
      if (wordCharacter.test(grapheme) !== isWord) return;
      at += grapheme.length;
    }
  };
  step(false);
  step(true);
  return at;
}
