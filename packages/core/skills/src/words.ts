/** Splits text into stemmed words without stop words, to compare skills and messages. */
import { stemmer } from "stemmer";
import { commonWords, everydayWords } from "./everyday-words.ts";

const stopWords = new Set(
  (
    "a about after again all also am an and another any are as at be because been before being best better between both but by can " +
    "cannot could did do does doing don done each easy either else even ever every everything few first five for from " +
    "further get gets give given go goes going good got had hard has have having he hello help her here hers hey hi him his " +
    "how however i if in into is isn it its just keep kept kind know last left let lets like ll look looks lot make makes " +
    "many may maybe me mean might mine more most much must my need needs neither never new next no nor not nothing now of " +
    "off ok okay on once one only or other others our out over own per perhaps please put puts quite rather re really right " +
    "same say says second see seem several she should show shows since skill skills so some someone something still such " +
    "sure take takes task tasks tell tells ten than thank thanks that the their them then there these they thing things " +
    "think this those though three through to today together told tomorrow too try two under until up upon us use used " +
    "useful user users uses using ve very via want wants was way ways we well were what when where whether which while who " +
    "whole whom whose why will with within without won work working works would yes yesterday yet you your yours agent agents"
  ).split(" "),
);

/** Other forms of stop words are stop words too: looked, doing, gives. */
const stopStems: ReadonlySet<string> = new Set([...stopWords].filter((word) => word.length > 3).map(stemOf));

/** They support a match but never cause one. */
const everydayStems: ReadonlySet<string> = new Set(everydayWords.map(stemOf));
const everydayImportance = 0.35;
const commonStems: ReadonlySet<string> = new Set(commonWords.map(stemOf));
const commonImportance = 0.7;

/** More text is not needed to classify a message, and the limit bounds the time. */
export const mostCharacters = 20_000;

/** Every stem, with repetitions. */
export function allWordsOf(text: string): string[] {
  return clausesOf(text).flat();
}

/** The stems per clause; clauses are separated by punctuation. */
export function clausesOf(text: string): string[][] {
  const lower = text.slice(0, mostCharacters).normalize("NFKC").toLowerCase();
  return lower.split(/[.,;:!?()"\u3001\u3002]+(?:\s|$)|[()"\n\u3001\u3002]/).map(stemsOf);
}

function stemsOf(clause: string): string[] {
  const found: string[] = [];
  for (const [word] of clause.matchAll(/[\p{L}\p{N}][\p{L}\p{N}\p{M}+#]*/gu)) {
    if (isUnspaced(word)) found.push(...charactersOf(word));
    else if (!stopWords.has(word)) {
      const stem = stemOf(word);
      // A number alone says nothing about the kind of work.
      if (stem.length > 1 && !stopStems.has(stem) && !/^\d+$/.test(stem)) found.push(stem);
    }
  }
  return found;
}

/** From 0 to 1: how much a word says about the subject of a text. */
export function importanceOf(stem: string): number {
  if (everydayStems.has(stem)) return everydayImportance;
  return commonStems.has(stem) ? commonImportance : 1;
}

/** Each two consecutive words of a clause, as one. */
export function pairsIn(clauses: readonly (readonly string[])[]): string[] {
  return clauses.flatMap((words) => words.slice(1).map((word, index) => `${words[index]} ${word}`));
}

/** Applies Porter's stemmer until the result is stable: `deployment` and `deploys` meet only in the second round. */
export function stemOf(word: string): string {
  if (word.length <= 3 || /\d/.test(word)) return word;
  const first = stemmer(american(word));
  const second = stemmer(first);
  return second.length > 1 ? second : first;
}

/** Maps British spellings to American ones. */
function american(word: string): string {
  return word
    .replace(/is(e[drs]?|ers|ing|ation|ations)$/, "iz$1")
    .replace(/ys(e[drs]?|ers|ing)$/, "yz$1")
    .replace(/our(s|ed|ing)?$/, "or$1");
}

/** Chinese, Japanese, Thai and similar scripts have no blanks between words. */
function isUnspaced(word: string): boolean {
  return /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(word);
}

function charactersOf(word: string): string[] {
  const characters = [...word];
  if (characters.length < 3) return [word];
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}
