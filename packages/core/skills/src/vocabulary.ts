/** The vocabulary of all skills, and the correction of typos against it. */

/** Shorter words are one letter away from too many others. */
const shortestTypo = 6;

export class Vocabulary {
  readonly #words: ReadonlySet<string>;
  /** Keyed by first letter and length. */
  readonly #alike = new Map<string, string[]>();

  constructor(words: Iterable<string>) {
    this.#words = new Set(words);
    for (const word of this.#words) {
      if (word.length < shortestTypo || word.includes(" ")) continue;
      const key = keyOf(word, word.length);
      const known = this.#alike.get(key);
      if (known === undefined) this.#alike.set(key, [word]);
      else known.push(word);
    }
  }

  has(word: string): boolean {
    return this.#words.has(word);
  }

  /** The only word that differs by one letter or by one transposition; null if there is none or more than one. */
  nearest(word: string): string | null {
    if (word.length < shortestTypo) return null;
    const lengths = [word.length - 1, word.length, word.length + 1];
    const found = lengths.flatMap((length) =>
      (this.#alike.get(keyOf(word, length)) ?? []).filter((other) => isOneSlip(word, other)),
    );
    return found.length === 1 ? (found[0] ?? null) : null;
  }
}

function keyOf(word: string, length: number): string {
  return `${word.charAt(0)}${length}`;
}

function isOneSlip(a: string, b: string): boolean {
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const restA = a.slice(start, a.length - end);
  const restB = b.slice(start, b.length - end);
  if (restA.length <= 1 && restB.length <= 1) return true;
  return restA.length === 2 && restB.length === 2 && restA[0] === restB[1] && restA[1] === restB[0];
}
