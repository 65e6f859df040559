/** The labelled requests and the skills they are about, and how often a matcher gives the right ones. */
import { readFileSync } from "node:fs";
import { SkillMatcher } from "../../src/matcher.ts";
import type { SkillOutline } from "../../src/skill.ts";
import { mostCandidates } from "../../src/skill-list.ts";
import { parsed, simplePage } from "../fixtures.ts";

export type Request = { text: string; wanted: readonly string[] };
export type LabelledSet = { skills: readonly SkillOutline[]; requests: readonly Request[]; idle: readonly string[] };
export type Measured = { hits: number; gifts: number; missed: object[]; unwanted: object[] };

type Family = {
  name: string;
  description: string;
  /** Each item is combined with each of these. */
  cross?: readonly (readonly string[])[];
  items: readonly (readonly string[])[];
};

const read = (file: string) => readFileSync(new URL(file, import.meta.url), "utf8");
const linesOf = (file: string) =>
  read(file)
    .split("\n")
    .filter((line) => line !== "");

function skillOf(name: string, description: string): SkillOutline {
  return parsed(simplePage(name, JSON.stringify(description)));
}

/** The set on which the thresholds were chosen. */
export const tuned: LabelledSet = {
  skills: linesOf("skills.txt").map((line) => {
    const [name = "", description = ""] = line.split(" | ");
    return skillOf(name, description);
  }),
  requests: linesOf("requests.txt").map((line) => {
    const [text = "", names = ""] = line.split(" | ");
    return { text, wanted: names.split(" ") };
  }),
  idle: linesOf("none.txt"),
};

/**
 * The set that was written before anything was measured with it. A line `# name | description | twins` begins a skill; its requests
 * follow. Twins are skills of the other sets that serve these requests equally well.
 */
export const heldOut: LabelledSet = readHeldOut();

/** Skills that no request is about: the neighbours that a large collection has. */
export const distractors: readonly SkillOutline[] = (JSON.parse(read("distractors.json")) as Family[]).flatMap(
  (family) =>
    family.items.flatMap((item) =>
      (family.cross ?? [[]]).map((more) => {
        const fill = (text: string) =>
          text.replace(/\{(cross)?(\d)\}/g, (_, cross, index) => (cross === undefined ? item : more)[index] ?? "");
        return skillOf(fill(family.name), fill(family.description));
      }),
    ),
);

function readHeldOut(): LabelledSet {
  const skills: SkillOutline[] = [];
  const requests: Request[] = [];
  let wanted: string[] = [];
  for (const line of linesOf("held-out.txt")) {
    if (!line.startsWith("# ")) requests.push({ text: line, wanted });
    else {
      const [name = "", description = "", twins = ""] = line.slice(2).split(" | ");
      skills.push(skillOf(name, description));
      wanted = [name, ...twins.split(" ").filter((twin) => twin !== "")];
    }
  }
  return { skills, requests, idle: linesOf("held-out-none.txt") };
}

/** What a turn gets: at most two skills that the text is about. */
export function given(matcher: SkillMatcher, text: string): string[] {
  const strong = matcher.match(text).filter((match) => match.strong);
  return strong.slice(0, 2).map(({ skill }) => skill.name);
}

/** The share of requests that get the right skill, and of the others that get any. */
export function measure(skills: readonly SkillOutline[], { requests, idle }: Omit<LabelledSet, "skills">): Measured {
  const matcher = new SkillMatcher(skills);
  const names = new Set(skills.map((skill) => skill.name));
  const asked = requests.filter(({ wanted }) => wanted.some((name) => names.has(name)));
  const answers = asked.map(({ text, wanted }) => ({ text, wanted, got: given(matcher, text) }));
  const missed = answers.filter(({ wanted, got }) => !got.some((name) => wanted.includes(name)));
  const unwanted = idle.map((text) => ({ text, got: given(matcher, text) })).filter(({ got }) => got.length > 0);
  return { hits: 1 - missed.length / asked.length, gifts: unwanted.length / idle.length, missed, unwanted };
}

/** Every tenth or so of the skills, twelve times, each time others. */
export function samples(skills: readonly SkillOutline[], size: number): SkillOutline[][] {
  return Array.from({ length: 12 }, (_, round) =>
    skills.filter((_, index) => (index * 7 + round * 11) % skills.length < size),
  );
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** A third set, over the same skills, that was written before the weights were changed and measured after. */
export const secondLook: Omit<LabelledSet, "skills"> = {
  requests: linesOf("second-look.txt").map((line) => {
    const [text = "", names = ""] = line.split(" | ");
    return { text, wanted: names.split(" ") };
  }),
  idle: linesOf("second-look-none.txt"),
};

/**
 * Requests of everyday work that need no skill. The thresholds for many skills were chosen on the first list; the second
 * was written and measured after.
 */
export const plain = { seen: linesOf("plain.txt"), unseen: linesOf("plain-unseen.txt") };

/** The requests for which the matcher gives any text. */
export function gifts(matcher: SkillMatcher, texts: readonly string[]): { text: string; got: string[] }[] {
  return texts.map((text) => ({ text, got: given(matcher, text) })).filter(({ got }) => got.length > 0);
}

/** The share of requests whose right skill is among the candidates that the list describes, or that gets its text. */
export function found(skills: readonly SkillOutline[], requests: readonly Request[]): number {
  const matcher = new SkillMatcher(skills);
  const names = new Set(skills.map(({ name }) => name));
  const asked = requests.filter(({ wanted }) => wanted.some((name) => names.has(name)));
  const isFound = ({ text, wanted }: Request) =>
    matcher
      .match(text)
      .slice(0, mostCandidates)
      .some(({ skill }) => wanted.includes(skill.name));
  return asked.filter(isFound).length / asked.length;
}
