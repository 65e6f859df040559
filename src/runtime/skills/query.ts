/** Converts a text to the terms by which skills are found. */
import { phrases, synonymGroups } from "./synonyms.ts";
import type { Vocabulary } from "./vocabulary.ts";
import { clausesOf, importanceOf, mostCharacters, pairsIn, stemOf } from "./words.ts";

export type QueryTerm = {
  /** The word and its alternatives, each with a factor. */
  alternatives: { word: string; factor: number }[];
  /** From 0 to 1: low for words that occur in all kinds of requests. */
  importance: number;
  /** A skill that contains it is distinguished by it. */
  telling: boolean;
  /** Two consecutive words. */
  isPair: boolean;
};

/** The factor of a synonym. */
const synonymFactor = 0.8;
const pairFactor = 0.4;
/** The factor of a corrected typo. */
const typoFactor = 0.6;
/** Longer texts have enough other words. */
const mostTypos = 40;
/** A word of at least this importance distinguishes skills. */
const tellingFrom = 0.6;

const synonyms: ReadonlyMap<string, readonly string[]> = synonymTable();

export function queryTerms(text: string, vocabulary: Vocabulary): QueryTerm[] {
  const clauses = clausesOf(inOneWord(withoutCode(text)));
  const terms = new Map<string, QueryTerm>();
  let typos = 0;
  for (const word of clauses.flat()) {
    if (terms.has(word)) continue;
    const term = termOf(word);
    terms.set(word, term);
    if (term.alternatives.some((one) => vocabulary.has(one.word)) || typos >= mostTypos) continue;
    typos += 1;
    const meant = vocabulary.nearest(word);
    if (meant !== null) term.alternatives.push({ word: meant, factor: typoFactor });
  }
  for (const pair of pairsIn(clauses)) {
    if (!vocabulary.has(pair) || terms.has(pair)) continue;
    const telling = pair.split(" ").every((word) => importanceOf(word) < tellingFrom);
    terms.set(pair, { alternatives: [{ word: pair, factor: pairFactor }], importance: 1, telling, isPair: true });
  }
  return [...terms.values()];
}

function termOf(word: string): QueryTerm {
  const others = (synonyms.get(word) ?? []).map((other) => ({ word: other, factor: synonymFactor }));
  const importance = importanceOf(word);
  const alternatives = [{ word, factor: 1 }, ...others];
  return { alternatives, importance, telling: importance >= tellingFrom, isPair: false };
}

/** Removes code blocks and names in paths, which are material rather than a request; only the file type is kept. */
function withoutCode(text: string): string {
  return text
    .slice(0, mostCharacters)
    .replace(/^[ \t]*(```|~~~)[\s\S]*?(?:^[ \t]*\1|$(?![\s\S]))/gm, " ")
    .replace(/(?<![\w/:.])[~.]?\/?(?:[\w@.-]{1,80}\/){1,20}[\w@-]{1,80}(?:\.(\w{1,5}))?(?![\w/])/g, (path, kind) =>
      kind === undefined ? path : kind,
    );
}

function inOneWord(text: string): string {
  let result = text.toLowerCase();
  for (const [phrase, word] of phrases) result = result.replace(phrase, word);
  return result;
}

function synonymTable(): Map<string, string[]> {
  const table = new Map<string, string[]>();
  for (const group of synonymGroups) {
    const stems = [...new Set(group.map(stemOf))];
    for (const stem of stems) {
      const others = table.get(stem) ?? [];
      others.push(...stems.filter((other) => other !== stem && !others.includes(other)));
      table.set(stem, others);
    }
  }
  return table;
}
