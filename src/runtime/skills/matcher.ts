/** Which skills a text is about, by whole words: an index from each word to the skills that say it. */
import type { Skill } from "./skill.ts";
import { wordsOf } from "./words.ts";

export type Match = {
  skill: Skill;
  /** How much of what tells this skill from the others the text says. */
  score: number;
  /** So much that the skill is taken to be meant. */
  strong: boolean;
};

type Posting = { index: number; weight: number; inName: boolean };

const nameWeight = 3;
/** So many words of a description make a match, or fewer when they are this part of what was said. */
const enoughWords = 4;
const fewestWords = 2;
const enoughShare = 0.5;

export class SkillMatcher {
  readonly #skills: readonly Skill[];
  readonly #postings = new Map<string, Posting[]>();
  /** How many words each name has. */
  readonly #nameLengths: number[] = [];

  constructor(skills: readonly Skill[]) {
    this.#skills = skills;
    for (const [index, skill] of skills.entries()) {
      const name = new Set(wordsOf(skill.name.replace(/[-_:]/g, " ")));
      this.#nameLengths.push(name.size);
      for (const word of name) this.#post(word, { index, weight: nameWeight, inName: true });
      for (const word of wordsOf(`${skill.description} ${skill.whenToUse}`))
        if (!name.has(word)) this.#post(word, { index, weight: 1, inName: false });
    }
  }

  /** The best first; those that nothing was said of are not among them. */
  match(text: string): Match[] {
    const words = wordsOf(text);
    const tallies = new Map<number, { score: number; words: number; nameWords: number }>();
    for (const word of words) {
      const postings = this.#postings.get(word);
      if (postings === undefined) continue;
      const rarity = Math.log(1 + (this.#skills.length - postings.length + 0.5) / (postings.length + 0.5));
      for (const { index, weight, inName } of postings) {
        const tally = tallies.get(index);
        if (tally === undefined) tallies.set(index, { score: rarity * weight, words: 1, nameWords: inName ? 1 : 0 });
        else {
          tally.score += rarity * weight;
          tally.words += 1;
          if (inName) tally.nameWords += 1;
        }
      }
    }
    const matches: Match[] = [];
    for (const [index, { score, words: count, nameWords }] of tallies) {
      const skill = this.#skills[index];
      if (skill === undefined) continue;
      const named = nameWords > 0 && nameWords === this.#nameLengths[index];
      const described = count >= enoughWords || (count >= fewestWords && count >= words.length * enoughShare);
      matches.push({ skill, score: named ? score + 1 : score, strong: named || described });
    }
    return matches.sort((a, b) => Number(b.strong) - Number(a.strong) || b.score - a.score);
  }

  #post(word: string, posting: Posting): void {
    const known = this.#postings.get(word);
    if (known === undefined) this.#postings.set(word, [posting]);
    else known.push(posting);
  }
}
