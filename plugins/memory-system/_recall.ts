/** Finds the memories that match a text by common words, with a small bonus for recent ones. */
import type { Entry } from "./_entries.ts";

const dayMs = 24 * 60 * 60 * 1000;
const fewest = 2;
const most = 5;
const stopwords = new Set(
  (
    "a about after all also an and any are as at be because been but by can could did do does for from get had has have " +
    "he her his how i if in into is it its just like me more my no not of on one or our out please she should so some " +
    "that the their them then there these they this to up us was we were what when where which who will with would you your"
  ).split(" "),
);

export function wordsOf(text: string): Set<string> {
  const words = new Set<string>();
  for (const word of text.toLowerCase().split(/[^\p{L}\p{N}]+/u)) {
    if (word === "" || stopwords.has(word)) continue;
    words.add(word);
    if (word.length > 3 && word.endsWith("s")) words.add(word.slice(0, -1));
    if (word.length > 4 && word.endsWith("ing")) words.add(word.slice(0, -3));
  }
  return words;
}

export function score(query: ReadonlySet<string>, entry: Entry): number {
  const title = wordsOf(`${entry.name} ${entry.description}`);
  return 2 * query.intersection(title).size + query.intersection(wordsOf(entry.content)).size;
}

export function search(entries: readonly Entry[], text: string, limit: number): { entry: Entry; score: number }[] {
  const query = wordsOf(text);
  return entries
    .map((entry) => ({ entry, score: score(query, entry) }))
    .filter((found) => found.score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit);
}

/** Returns the best matches for a message, up to a total number of words. */
export function recall(entries: readonly Entry[], message: string, now: number, words: number): Entry[] {
  const query = wordsOf(message);
  const ranked = entries
    .map((entry) => {
      const found = score(query, entry);
      const isNew = now - Date.parse(entry.updated) < dayMs;
      return { entry, score: found === 0 ? 0 : found + (isNew ? 1 : 0) };
    })
    .filter((one) => one.score >= fewest)
    .sort((a, b) => b.score - a.score)
    .slice(0, most);
  let left = words;
  return ranked.flatMap(({ entry }) => {
    left -= countWords(teaser(entry));
    return left >= 0 ? [entry] : [];
  });
}

export function teaser({ slug, name, description }: Entry): string {
  return `- **${name}** (${slug}) — ${description}`;
}

export function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => word !== "").length;
}
