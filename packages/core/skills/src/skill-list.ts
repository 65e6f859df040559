/**
 * The list of skills in the system prompt: all names, as many descriptions as fit, and a note about what was shortened.
 */
import type { CatalogSize } from "@aegis/contract/skill.ts";
import type { Skill } from "./skill.ts";

export type SkillListOptions = {
  /** The limit of the list in characters. */
  budget: number;
  /** Skills with a higher rank keep their descriptions longest. */
  rank: (skill: Skill) => number;
  /** The agent can load and search skills by name; otherwise the list contains their paths. */
  canLoad: boolean;
  canSearch: boolean;
};

export type SkillList = { text: string; size: CatalogSize };

const noSkills: SkillList = { text: "", size: { skills: 0, characters: 0, shortened: 0, name_only: 0, left_out: 0 } };
/** A shorter description has no value. */
const shortest = 60;
/** Names may exceed the budget by this factor. Beyond that, the lowest-ranked ones are only counted. */
const namesOver = 3;

export function buildSkillList(skills: readonly Skill[], options: SkillListOptions): SkillList {
  if (skills.length === 0) return noSkills;
  const { lines, shortened, nameOnly, left } = listSkills(skills, options);
  const text = [...introduction(options), "", ...lines].join("\n");
  const size = { skills: skills.length, characters: text.length, shortened, name_only: nameOnly, left_out: left };
  return { text, size };
}

/** The changes since the agent got the list, in a few lines; empty if there are none. */
export function skillListNews(before: readonly Skill[], now: readonly Skill[], options: SkillListOptions): string {
  const known = new Map(before.map((skill) => [skill.name, skill.description]));
  const current = new Set(now.map((skill) => skill.name));
  const added = now.filter((skill) => !known.has(skill.name));
  const changed = now.filter((skill) => known.has(skill.name) && known.get(skill.name) !== skill.description);
  const removed = before.filter((skill) => !current.has(skill.name)).map((skill) => oneLine(skill.name));
  const lines: string[] = [];
  if (added.length > 0) lines.push("New:", ...listSkills(added, options).lines);
  if (changed.length > 0) lines.push("New descriptions:", ...listSkills(changed, options).lines);
  if (removed.length > 0) {
    const { listed, left } = namesWithin(removed, options.budget);
    lines.push(`Removed: ${listed.join(", ")}${left > 0 ? ` and ${left} more` : ""}`);
  }
  return lines.length === 0 ? "" : ["The list of skills that you can use has changed.", ...lines].join("\n");
}

type Listed = { lines: string[]; shortened: number; nameOnly: number; left: number };

function listSkills(skills: readonly Skill[], options: SkillListOptions): Listed {
  const entries = skills.map((skill) => ({ skill, ...entryOf(skill, options) }));
  const full = entries.reduce((sum, { name, description }) => sum + lineLength(name, description.length), 0);
  const cut = full <= options.budget ? null : shorten(entries, options);
  const lines: string[] = [];
  for (const { skill, name, description } of entries) {
    const length = cut === null ? description.length : (cut.lengths.get(skill) ?? 0);
    if (length === 0) continue;
    if (length < description.length) lines.push(`- ${name}: ${description.slice(0, length - 1).trimEnd()}…`);
    else lines.push(`- ${name}: ${description}`);
  }
  const { listed, left } = namesWithin(cut?.bare ?? [], options.budget * namesOver);
  if (listed.length > 0) lines.push(`By name only: ${listed.join(", ")}`);
  const counts = { shortened: cut?.shortened ?? 0, nameOnly: listed.length, left };
  const note = noteOf(counts, options);
  return { ...counts, lines: note === "" ? lines : [...lines, "", note] };
}

function introduction({ canLoad, canSearch }: SkillListOptions): string[] {
  const how = canLoad
    ? "When one fits what you are asked to do, load it with the tool `load_skill` first and follow it."
    : "When one fits what you are asked to do, read its file first and follow it.";
  const more = canSearch ? " `search_skills` finds one by words." : "";
  return ["# Skills", "", `These are instructions for particular tasks. ${how} Load none that does not fit.${more}`];
}

type Entry = { skill: Skill; name: string; description: string };

function entryOf(skill: Skill, { canLoad }: SkillListOptions): Omit<Entry, "skill"> {
  const place = canLoad || skill.file === null ? "" : ` (${skill.file})`;
  return { name: oneLine(skill.name), description: `${oneLine(skill.description)}${place}` };
}

/**
 * The highest-ranked skills keep their description, the next ones its beginning, the last ones (`bare`) only the name.
 */
function shorten(
  entries: readonly Entry[],
  { budget, rank }: SkillListOptions,
): { lengths: Map<Skill, number>; shortened: number; bare: string[] } {
  const lengths = new Map<Skill, number>();
  let shortened = 0;
  // If names use the whole budget, the best matches still keep their descriptions.
  const names = entries.reduce((sum, { name }) => sum + name.length + 2, 0);
  let left = Math.max(budget - names, Math.floor(budget / 4));
  const ranks = new Map(entries.map(({ skill }) => [skill, rank(skill)]));
  const byRank = [...entries].sort((a, b) => (ranks.get(b.skill) ?? 0) - (ranks.get(a.skill) ?? 0));
  const fair = Math.max(shortest, Math.floor(left / entries.length));
  for (const { skill, description } of byRank) {
    const most = (ranks.get(skill) ?? 0) > 0 ? description.length : Math.min(description.length, fair);
    const length = Math.min(most, left - 6);
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

function noteOf({ shortened, nameOnly, left }: Omit<Listed, "lines">, { canSearch }: SkillListOptions): string {
  const parts = [
    shortened > 0 ? `${shortened} descriptions are shortened` : "",
    nameOnly > 0 ? `${nameOnly} skills are listed by name only` : "",
    left > 0 ? `${left} more are not listed` : "",
  ].filter((part) => part !== "");
  if (parts.length === 0) return "";
  return `Note: to save space ${parts.join(", ")}.${canSearch ? " Ask `search_skills` for what they are about." : ""}`;
}

function lineLength(name: string, description: number): number {
  return name.length + description + 5;
}

/** A name or description must not look like another line of the list. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
