/**
 * Ranks skills for a text with BM25 over names, descriptions and tags, with stemmed words and word pairs. Rare words
 * weigh more than common ones, and everyday words weigh least. `npx vitest run packages/core/skills/test/matching` measures
 * it.
 */
import type { SkillOutline } from "./skill.ts";
import { phrases, synonymGroups } from "./synonyms.ts";
import { Vocabulary } from "./vocabulary.ts";
import { clausesOf, importanceOf, mostCharacters, pairsIn, stemOf } from "./words.ts";

export type Match = {
  skill: SkillOutline;
  score: number;
  /** The text contains enough distinguishing words to select this skill. */
  strong: boolean;
  /** The skill and the text share a distinguishing word. */
  related: boolean;
};

type Posting = { index: number; frequency: number; inName: boolean };

/** BM25 parameters: the saturation of repeated words, and the penalty of long descriptions. */
const saturation = 0.8;
const lengthWeight = 0.2;
/** The factor of words in the name. */
const nameWeight = 2;
/** A word that no skill contains suggests that the text is about something else. */
const unknownWeight = 0.35;
/**
 * The thresholds of a match: the score, where 1 is the weight of a word that only one skill has, and the share of the
 * text that it covers. Several shared words are the best evidence, then a word of the name.
 */
const several = { score: 0.7, coverage: 0.2 };
const oneOfName = { score: 0.8, coverage: 0.15 };
const oneOther = { score: 0.9, coverage: 0.2 };
/**
 * Among many skills, one of them shares a rare word with almost any text by chance, in its name or not. So they need
 * more evidence: the score that is enough rises from those above to this one while the number of skills grows.
 */
const amongMany = 1.7;
const fewSkills = 60;
const manySkills = 240;
/** A skill that scores below this share of the best one is not selected. */
const nearBest = 0.5;

type Tally = {
  score: number;
  weight: number;
  /** The number of distinguishing words that the skill and the text share. */
  telling: number;
  inName: boolean;
};

export class SkillMatcher {
  readonly #skills: readonly SkillOutline[];
  readonly #postings = new Map<string, Posting[]>();
  readonly #vocabulary: Vocabulary;
  readonly #lengths: number[] = [];
  readonly #averageLength: number;
  /** The weight of a word that only one skill has. */
  readonly #unit: number;
  /** From 0 for few skills to 1 for many. */
  readonly #crowd: number;
  /** Built for the first text: the words of all groups have to be stemmed. */
  #synonyms: Synonyms | null = null;

  constructor(skills: readonly SkillOutline[]) {
    this.#skills = skills;
    for (const [index, skill] of skills.entries()) {
      const name = clausesOf(skill.name.replace(/[-_:]/g, " "));
      const description = clausesOf(`${skill.description}\n${skill.whenToUse}\n${skill.keywords}`);
      const frequencies = new Map<string, number>();
      const count = (word: string, weight: number) => frequencies.set(word, (frequencies.get(word) ?? 0) + weight);
      const named = [...name.flat(), ...pairsIn(name)];
      for (const word of named) count(word, nameWeight);
      for (const word of [...description.flat(), ...pairsIn(description)]) count(word, 1);
      for (const [word, frequency] of frequencies) this.#post(word, { index, frequency, inName: named.includes(word) });
      this.#lengths.push(name.flat().length + description.flat().length);
    }
    this.#averageLength = this.#lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, skills.length);
    this.#unit = rarity(1, skills.length);
    const growth = Math.log(Math.max(1, skills.length) / fewSkills) / Math.log(manySkills / fewSkills);
    this.#crowd = Math.min(1, Math.max(0, growth));
    this.#vocabulary = new Vocabulary(this.#postings.keys());
  }

  /** Best first, without skills that share no word with the text. */
  match(text: string): Match[] {
    const tallies = new Map<number, Tally>();
    this.#synonyms ??= synonymTable();
    let said = 0;
    for (const term of queryTerms(text, this.#vocabulary, this.#synonyms)) {
      said += this.#count(tallies, term);
    }
    const matches = [...tallies].flatMap(([index, tally]) => {
      const skill = this.#skills[index];
      if (skill === undefined) return [];
      return [{ skill, score: tally.score, strong: this.#isEnough(tally, said), related: tally.telling > 0 }];
    });
    matches.sort((a, b) => b.score - a.score);
    const best = matches[0]?.score ?? 0;
    return matches.map((match) => ({ ...match, strong: match.strong && match.score >= best * nearBest }));
  }

  #isEnough({ score, weight, telling, inName }: Tally, said: number): boolean {
    if (telling === 0) return false;
    const least = telling > 1 ? several : inName ? oneOfName : oneOther;
    const enough = least.score + (amongMany - least.score) * this.#crowd;
    return score >= enough * this.#unit && weight >= said * least.coverage;
  }

  /** Returns the term's weight in the text. Each skill counts its best-matching alternative. */
  #count(tallies: Map<number, Tally>, { alternatives, importance, telling, isPair }: QueryTerm): number {
    const best = new Map<number, { score: number; weight: number; inName: boolean }>();
    let heaviest = 0;
    for (const { word, factor } of alternatives) {
      const postings = this.#postings.get(word) ?? [];
      if (postings.length === 0) continue;
      const weight = rarity(postings.length, this.#skills.length) * importance * factor;
      heaviest = Math.max(heaviest, weight);
      for (const { index, frequency, inName } of postings) {
        const length = (this.#lengths[index] ?? 0) / this.#averageLength;
        const damped = frequency + saturation * (1 - lengthWeight + lengthWeight * length);
        const score = (weight * frequency * (saturation + 1)) / damped;
        if (score > (best.get(index)?.score ?? 0)) best.set(index, { score, weight, inName });
      }
    }
    for (const [index, { score, weight, inName }] of best) {
      const tally = tallies.get(index) ?? { score: 0, weight: 0, telling: 0, inName: false };
      tallies.set(index, tally);
      tally.score += score;
      // The words of a pair already count individually.
      if (!isPair) tally.weight += weight;
      if (telling) tally.telling += 1;
      tally.inName ||= inName && telling;
    }
    if (isPair) return 0;
    return heaviest > 0 ? heaviest : unknownWeight * this.#unit * importance;
  }

  #post(word: string, posting: Posting): void {
    const known = this.#postings.get(word);
    if (known === undefined) this.#postings.set(word, [posting]);
    else known.push(posting);
  }
}

/** Inverse document frequency: high for a word that few skills have. */
function rarity(having: number, all: number): number {
  return Math.log(1 + (all - having + 0.5) / (having + 0.5));
}

type QueryTerm = {
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

/** The synonyms of each stem. */
type Synonyms = ReadonlyMap<string, readonly string[]>;

/** The terms of a text by which skills are found. */
function queryTerms(text: string, vocabulary: Vocabulary, synonyms: Synonyms): QueryTerm[] {
  const clauses = clausesOf(inOneWord(withoutCode(text)));
  const terms = new Map<string, QueryTerm>();
  let typos = 0;
  for (const word of clauses.flat()) {
    if (terms.has(word)) continue;
    const term = termOf(word, synonyms);
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

function termOf(word: string, synonyms: Synonyms): QueryTerm {
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

function synonymTable(): Synonyms {
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
