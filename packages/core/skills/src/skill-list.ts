/**
 * The list of skills in the system prompt: all of them with their descriptions if they fit. Otherwise the best candidates
 * for the request keep theirs, the others are shortened, named or counted, and a note says so.
 */
import type { CatalogSize } from "@aegis/contract/skill.ts";
import type { SkillOutline } from "./skill.ts";

export type SkillListOptions = {
  /** The limit of the list in characters. */
  budget: number;
  /** Skills with a higher rank keep their descriptions longest. */
  rank: (skill: SkillOutline) => number;
  /** The agent can load and search skills by name; otherwise the list contains their paths. */
  canLoad: boolean;
  canSearch: boolean;
};

export type SkillList = {
  text: string;
  size: CatalogSize;
  /** The skills whose description the list contains, at least in part. */
  described: readonly SkillOutline[];
};

const noSkills: SkillList = {
  text: "",
  size: { skills: 0, characters: 0, shortened: 0, name_only: 0, left_out: 0 },
  described: [],
};
/** A shorter description has no value. */
const shortest = 60;
/** The candidates for a request among skills whose descriptions do not all fit. */
export const mostCandidates = 40;
/** The share of the budget that is for descriptions even if the names alone would use it up. */
const describedShare = 0.75;
/**
 * Names have at least this share of the budget. An agent that cannot search needs the names more: they may exceed the
 * budget by the factor. The lowest-ranked ones beyond that are only counted.
 */
const namedShare = 0.25;
const namedWithoutSearch = 3;

export function buildSkillList(skills: readonly SkillOutline[], options: SkillListOptions): SkillList {
  if (skills.length === 0) return noSkills;
  const { lines, shortened, nameOnly, left, described } = listSkills(skills, options);
  const text = [...introduction(options), "", ...lines].join("\n");
  const size = { skills: skills.length, characters: text.length, shortened, name_only: nameOnly, left_out: left };
  return { text, size, described };
}

/** The changes since the agent got the list, in a few lines; empty if there are none. */
export function skillListNews(
  before: readonly SkillOutline[],
  now: readonly SkillOutline[],
  options: SkillListOptions,
): SkillMenu {
  const known = new Map(before.map((skill) => [skill.name, skill.description]));
  const current = new Set(now.map((skill) => skill.name));
  const added = now.filter((skill) => !known.has(skill.name));
  const changed = now.filter((skill) => known.has(skill.name) && known.get(skill.name) !== skill.description);
  const removed = before.filter((skill) => !current.has(skill.name)).map((skill) => oneLine(skill.name));
  const lines: string[] = [];
  const described: SkillOutline[] = [];
  for (const [title, skills] of [
    ["New:", added],
    ["New descriptions:", changed],
  ] as const) {
    if (skills.length === 0) continue;
    const listed = listSkills(skills, options);
    lines.push(title, ...listed.lines);
    described.push(...listed.described);
  }
  if (removed.length > 0) {
    const { listed, left } = namesWithin(removed, options.budget);
    lines.push(`Removed: ${listed.join(", ")}${left > 0 ? ` and ${left} more` : ""}`);
  }
  const text = lines.length === 0 ? "" : ["The list of skills that you can use has changed.", ...lines].join("\n");
  return { text, described };
}

/** The candidates for a later request whose descriptions the agent has not seen, in a few lines; empty without any. */
export function skillCandidates(
  candidates: readonly SkillOutline[],
  options: Omit<SkillListOptions, "rank">,
): SkillMenu {
  const lines: string[] = [];
  const described: SkillOutline[] = [];
  let left = Math.floor(options.budget / 2);
  const longest = Math.max(shortest, Math.floor(left / mostCandidates));
  for (const skill of candidates.slice(0, mostCandidates)) {
    const { name, description } = entryOf(skill, options);
    const line = lineOf(name, description, longest - name.length - 6);
    left -= line.length + 1;
    if (left < 0) break;
    lines.push(line);
    described.push(skill);
  }
  if (lines.length === 0) return { text: "", described };
  const load = options.canLoad ? "Load one with `load_skill` if it fits" : "Read the file of one if it fits";
  const search = options.canSearch ? "; `search_skills` finds others" : "";
  return { text: [`Skills that may be about this message. ${load}${search}.`, ...lines].join("\n"), described };
}

export type SkillMenu = Pick<SkillList, "text" | "described">;

type Counts = { shortened: number; nameOnly: number; left: number };
type Listed = Counts & { lines: string[]; described: SkillOutline[] };

function listSkills(skills: readonly SkillOutline[], options: SkillListOptions): Listed {
  const entries = skills.map((skill) => ({ skill, ...entryOf(skill, options) }));
  const full = entries.reduce((sum, { name, description }) => sum + lineLength(name, description.length), 0);
  const cut = full <= options.budget ? null : shorten(entries, options);
  const lines: string[] = [];
  const described: SkillOutline[] = [];
  for (const { skill, name, description } of entries) {
    const length = cut === null ? description.length : (cut.lengths.get(skill) ?? 0);
    if (length === 0) continue;
    described.push(skill);
    lines.push(lineOf(name, description, length));
  }
  const used = lines.reduce((sum, line) => sum + line.length + 1, 0);
  const room = options.canSearch
    ? Math.max(options.budget - used, options.budget * namedShare)
    : options.budget * namedWithoutSearch;
  const { listed, left } = namesWithin(cut?.bare ?? [], room);
  if (listed.length > 0) lines.push(`By name only: ${listed.join(", ")}`);
  const counts = { shortened: cut?.shortened ?? 0, nameOnly: listed.length, left };
  const note = noteOf(counts, options);
  return { ...counts, described, lines: note === "" ? lines : [...lines, "", note] };
}

function introduction({ canLoad, canSearch }: SkillListOptions): string[] {
  const how = canLoad
    ? "When one fits what you are asked to do, load it with the tool `load_skill` first and follow it."
    : "When one fits what you are asked to do, read its file first and follow it.";
  const more = canSearch ? " `search_skills` finds one by words." : "";
  return ["# Skills", "", `These are instructions for particular tasks. ${how} Load none that does not fit.${more}`];
}

type Entry = { skill: SkillOutline; name: string; description: string };

function entryOf(skill: SkillOutline, { canLoad }: Pick<SkillListOptions, "canLoad">): Omit<Entry, "skill"> {
  const place = canLoad || skill.file === null ? "" : ` (${skill.file})`;
  return { name: oneLine(skill.name), description: `${oneLine(skill.description)}${place}` };
}

/**
 * The candidates, which have the highest ranks, keep their description, the next skills its beginning, the last ones
 * (`bare`) only the name.
 */
function shorten(
  entries: readonly Entry[],
  { budget, rank }: SkillListOptions,
): { lengths: Map<SkillOutline, number>; shortened: number; bare: string[] } {
  const lengths = new Map<SkillOutline, number>();
  let shortened = 0;
  const names = entries.reduce((sum, { name }) => sum + name.length + 2, 0);
  let left = Math.max(budget - names, Math.floor(budget * describedShare));
  const ranks = new Map(entries.map(({ skill }) => [skill, rank(skill)]));
  const byRank = [...entries].sort((a, b) => (ranks.get(b.skill) ?? 0) - (ranks.get(a.skill) ?? 0));
  const fair = Math.max(shortest, Math.floor(left / entries.length));
  const candidates = Math.min(mostCandidates, byRank.filter(({ skill }) => (ranks.get(skill) ?? 0) > 0).length);
  const share = Math.max(shortest, Math.floor(left / Math.max(1, candidates)));
  for (const [index, { skill, description }] of byRank.entries()) {
    // What the candidates before did not use is for the next ones.
    const most = index < candidates ? Math.max(share, left - share * (candidates - index - 1)) : fair;
    const length = Math.min(description.length, most, left - 6);
    if (length < Math.min(shortest, description.length)) continue;
    lengths.set(skill, length);
    left -= length + 6;
    if (length < description.length) shortened += 1;
  }
  return { lengths, shortened, bare: byRank.filter(({ skill }) => !lengths.has(skill)).map(({ name }) => name) };
}

function namesWithin(names: readonly string[], budget: number): { listed: string[]; left: number } {
  let used = 0;
  const end = names.findIndex((name) => {
    used += name.length + 2;
    return used > budget;
  });
  const listed = end === -1 ? [...names] : names.slice(0, end);
  return { listed, left: names.length - listed.length };
}

function noteOf({ shortened, nameOnly, left }: Counts, { canSearch }: SkillListOptions): string {
  const parts = [
    shortened > 0 ? `${shortened} descriptions are shortened` : "",
    nameOnly > 0 ? `${nameOnly} skills are listed by name only` : "",
    left > 0 ? `${left} more are not listed` : "",
  ].filter((part) => part !== "");
  if (parts.length === 0) return "";
  const search = " If none above fits, `search_skills` finds the others by the words of the request.";
  return `Note: to save space ${parts.join(", ")}.${canSearch ? search : ""}`;
}

function lineOf(name: string, description: string, most: number): string {
  if (description.length <= most) return `- ${name}: ${description}`;
  return `- ${name}: ${description.slice(0, Math.max(shortest, most) - 1).trimEnd()}…`;
}

function lineLength(name: string, description: number): number {
  return name.length + description + 5;
}

/** A name or description must not look like another line of the list. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
