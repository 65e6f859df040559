/**
 * The text in the form that rules match: lower case, NFKC, without invisible characters, look-alike letters, split
 * commands and long blobs. Every position maps back to the original.
 */

export class FoldedText {
  readonly text: string;
  /** Positions at which the offset to the original changes: index in the folded text, index in the original. */
  readonly #folded: readonly number[];
  readonly #origin: readonly number[];

  constructor(text: string, folded: readonly number[], origin: readonly number[]) {
    this.text = text;
    this.#folded = folded;
    this.#origin = origin;
  }

  originAt(index: number): number {
    let [low, high] = [0, this.#folded.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#folded[middle] ?? 0) <= index) low = middle + 1;
      else high = middle;
    }
    const at = low - 1;
    return at < 0 ? index : (this.#origin[at] ?? 0) + index - (this.#folded[at] ?? 0);
  }
}

/** Longer runs of letters and digits are truncated: they are payloads, not words. */
const longestWord = 120;
const keptOfBlob = 48;
const pauseAfter = 512;

/** The look-behind tries each run of letters only at its beginning, so that the time is linear. */
const special = new RegExp(
  [
    String.raw`\\\r?\n[ \t]{0,200}`,
    // The next row of a table is no continuation of a command.
    String.raw`\|[ \t]{0,200}\r?\n(?![ \t]{0,200}\|)[ \t]{0,200}`,
    String.raw`[ \t]{2,}`,
    `(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{${longestWord},}`,
    `(?<=[A-Za-z])(?:""|'')(?=[A-Za-z])`,
    String.raw`\$\{IFS\}|\$IFS\b`,
    String.raw`[^\x00-\x7f]+`,
  ].join("|"),
  "gi",
);

/** Yields where it may be interrupted. */
export function* fold(text: string): Generator<void, FoldedText> {
  const parts: string[] = [];
  const folded: number[] = [];
  const origin: number[] = [];
  let [length, done, count] = [0, 0, 0];
  const push = (part: string, from: number, to: number) => {
    parts.push(part);
    length += part.length;
    if (part.length === to - from) return;
    folded.push(length);
    origin.push(to);
  };
  for (const { 0: found, index } of text.matchAll(special)) {
    const end = index + found.length;
    push(text.slice(done, index).toLowerCase(), done, index);
    if (found.charCodeAt(0) > 127) {
      const mixed = isLetter(text.charCodeAt(index - 1)) || isLetter(text.charCodeAt(end));
      let at = index;
      for (const character of found) {
        push(foldCharacter(character, mixed), at, at + character.length);
        at += character.length;
        if (++count % pauseAfter === 0) yield;
      }
    } else push(replacement(found), index, end);
    done = end;
    if (++count % pauseAfter === 0) yield;
  }
  push(text.slice(done).toLowerCase(), done, text.length);
  return new FoldedText(parts.join(""), folded, origin);
}

/** Joins continued command lines and collapses blanks. */
function replacement(found: string): string {
  const [first] = found;
  if (first === "|") return "| ";
  if (first === "\\" || first === "$" || first === " " || first === "\t") return " ";
  return first === '"' || first === "'" ? "" : found.slice(0, keptOfBlob).toLowerCase();
}

const invisible = /^(?:\p{Cf}|\p{Variation_Selector}|[\u034F\u115F\u1160\u3164\uFFA0\u180E])$/u;

function foldCharacter(character: string, mixed: boolean): string {
  if (invisible.test(character)) return "";
  const same = alike.get(character);
  if (same !== undefined) return same;
  if (mixed) {
    const latin = latinFor(character);
    if (latin !== null) return latin;
  }
  return character.normalize("NFKC").toLowerCase();
}

const alike: ReadonlyMap<string, string> = new Map([
  ...[..."‘’‚‛′"].map((quote) => [quote, "'"] as const),
  ...[..."“”„‟″"].map((quote) => [quote, '"'] as const),
  ...[..."‐‑‒–—―−"].map((dash) => [dash, "-"] as const),
  ["。", ". "],
  ["、", ", "],
  ["\u2028", "\n"],
  ["\u2029", "\n"],
]);

const cyrillicAndGreek = "аеорсухіјѕһԁԛԝѵӏкмтвнгпιοαρυνκτχΑΒΕΖΗΙΚΜΝΟΡΤΥΧАВЕКМНОРСТУХІЈЅ";
const asLatin = "aeopcyxijshdqwvlkmtbhrnioapuvktxabezhikmnoptyxabekmhopctyxijs";

/** The Latin letter that looks the same, or null. */
export function latinFor(character: string): string | null {
  const at = cyrillicAndGreek.indexOf(character);
  return at === -1 ? null : (asLatin[at] ?? null);
}

function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
}
