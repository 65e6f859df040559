/** Fast searches that avoid slower ones. */

/** Finds which of many words a text contains, in one pass, including overlapping words. Words are ASCII. */
export class WordFinder {
  /** For each pair of characters, the words that start with it. */
  readonly #byStart: (readonly string[] | undefined)[] = new Array(pairs);

  constructor(words: Iterable<string>) {
    for (const word of new Set(words)) {
      const start = pairAt(word.charCodeAt(0), word.charCodeAt(1));
      if (start === -1) throw new RangeError(`"${word}" is too short or not ASCII`);
      this.#byStart[start] = [...(this.#byStart[start] ?? []), word];
    }
  }

  find(text: string): Set<string> {
    const found = new Set<string>();
    let before = text.charCodeAt(0);
    for (let index = 1; index < text.length; index++) {
      const code = text.charCodeAt(index);
      const pair = pairAt(before, code);
      before = code;
      if (pair === -1) continue;
      const words = this.#byStart[pair];
      if (words !== undefined) for (const word of words) if (text.startsWith(word, index - 1)) found.add(word);
    }
    return found;
  }
}

/** Runs of base64 with at least `least` characters, truncated at `most`. */
export function* base64Runs(text: string, least: number, most: number): Generator<{ index: number; run: string }> {
  let end = 0;
  // A run that is long enough covers one of these positions.
  for (let place = least - 1; place < text.length; place += least) {
    if (place < end || !isBase64(text.charCodeAt(place))) continue;
    let start = place;
    while (start > end && isBase64(text.charCodeAt(start - 1))) start--;
    end = place + 1;
    while (end - start < most && isBase64(text.charCodeAt(end))) end++;
    if (end - start >= least) yield { index: start, run: text.slice(start, end) };
  }
}

export type TextMatch = { index: number; match: string };

const partLength = 8 * 1024;
/** The context of a part: the look-behind and the longest match. */
const [contextBefore, contextAfter] = [64, 1024];

/** The matches of a global pattern that start in one part of a text. */
export function* matchPart(text: string, start: number, length: number, pattern: RegExp): Generator<TextMatch> {
  const from = Math.max(0, start - contextBefore);
  const part = text.slice(from, start + length + contextAfter);
  for (const { index, 0: match } of part.matchAll(pattern)) {
    if (from + index >= start + length) return;
    if (from + index >= start) yield { index: from + index, match };
  }
}

/** All matches, part by part. Yields undefined after each part, so that the caller can pause. */
export function* matchInParts(text: string, pattern: RegExp): Generator<TextMatch | undefined> {
  for (let start = 0; start < text.length; start += partLength) {
    yield* matchPart(text, start, partLength, pattern);
    yield undefined;
  }
}

const ascii = 128;
const pairs = ascii * ascii;

function pairAt(first: number, second: number): number {
  return first < ascii && second < ascii ? first * ascii + second : -1;
}

/** Letters, digits, + and /. */
function isBase64(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 47 && code <= 57) || code === 43;
}
