/** Decides which skills an agent may use, and which are preloaded. */
import type { Agent } from "@aegis/contract/agent.ts";
import { factsOf } from "@aegis/drivers/all.ts";
import { type SkillOutline, skillKey } from "./skill.ts";

/** The user of skills. A person who only lists skills has access to all of them. */
export type SkillHolder = Pick<Agent, "skills"> & Partial<Pick<Agent, "harness" | "tools" | "deny_tools">>;

/** Some programs read folders of skills themselves and offer what is there to their model. */
export function isOfferedByHarness(holder: SkillHolder, { source }: SkillOutline): boolean {
  const folders = holder.harness === undefined ? [] : (factsOf(holder.harness)?.skillFolders ?? []);
  const folder = folders.find((one) => one.source === source || one.userSource === source);
  return folder !== undefined && holder.tools === null && holder.deny_tools?.includes(folder.tool) !== true;
}

/** `null` allows every skill, an empty list none. */
export function allowedSkills(
  skills: readonly SkillOutline[],
  list: readonly string[] | null,
): readonly SkillOutline[] {
  if (list === null) return skills;
  const entries = list.map((entry) => skillKey(entry));
  return skills.filter((skill) => entries.some((entry) => meets(entry, skill)));
}

/** The skills in an agent's file are preloaded in full. The configuration only restricts what it may use. */
export function preloadedSkills(
  agent: Pick<Agent, "skills" | "file" | "source">,
  allowed: readonly SkillOutline[],
): readonly SkillOutline[] {
  if (agent.source === "config" || agent.source === "detected" || agent.skills === null) return [];
  const named = new Set(agent.skills.filter((entry) => !entry.includes("*")).map(skillKey));
  return allowed.filter((skill) => named.has(skillKey(skill.name)) || named.has(ownedKey(skill)));
}

function meets(entry: string, skill: SkillOutline): boolean {
  const key = skillKey(skill.name);
  if (entry === "*" || entry === key || entry === ownedKey(skill)) return true;
  if (!entry.endsWith("*")) return false;
  const start = entry.slice(0, -1);
  return key.startsWith(start) || ownedKey(skill).startsWith(start);
}

function ownedKey(skill: SkillOutline): string {
  return skill.plugin === null ? skillKey(skill.name) : `${skillKey(skill.plugin)}:${skillKey(skill.name)}`;
}
