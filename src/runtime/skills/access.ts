/** Which skills an agent may have, and which it is given before it begins. */
import type { Agent } from "../../contract/agent.ts";
import { type Skill, skillKey } from "./skill.ts";

/** What is known of whoever uses skills; for a person who only looks, nothing but that all are meant. */
export type SkillHolder = Pick<Agent, "skills"> & Partial<Pick<Agent, "harness" | "tools" | "deny_tools">>;

/** Claude Code reads these folders itself and tells its model of what it finds there. */
export function isOfferedByHarness(holder: SkillHolder, skill: Skill): boolean {
  if (holder.harness !== "claude-code" || (skill.source !== "claude" && skill.source !== "user-claude")) return false;
  return holder.tools === null && holder.deny_tools?.includes("Skill") !== true;
}

/** The strongest says it all: `null` is every skill, an empty list none. */
export function allowedSkills(skills: readonly Skill[], list: readonly string[] | null): readonly Skill[] {
  if (list === null) return skills;
  const entries = list.map((entry) => skillKey(entry));
  return skills.filter((skill) => entries.some((entry) => meets(entry, skill)));
}

/** An agent's file names the skills it works by: they are given in full. The configuration only says what it may use. */
export function preloadedSkills(
  agent: Pick<Agent, "skills" | "file" | "source">,
  allowed: readonly Skill[],
): readonly Skill[] {
  if (agent.source === "config" || agent.source === "detected" || agent.skills === null) return [];
  const named = new Set(agent.skills.filter((entry) => !entry.includes("*")).map(skillKey));
  return allowed.filter((skill) => named.has(skillKey(skill.name)) || named.has(ownedKey(skill)));
}

function meets(entry: string, skill: Skill): boolean {
  const key = skillKey(skill.name);
  if (entry === "*" || entry === key || entry === ownedKey(skill)) return true;
  if (!entry.endsWith("*")) return false;
  const start = entry.slice(0, -1);
  return key.startsWith(start) || ownedKey(skill).startsWith(start);
}

function ownedKey(skill: Skill): string {
  return skill.plugin === null ? skillKey(skill.name) : `${skillKey(skill.plugin)}:${skillKey(skill.name)}`;
}
