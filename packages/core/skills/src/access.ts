/** Decides which skills an agent may use, and which are preloaded. */
import type { Agent } from "@aegis/contract/agent.ts";
import { type Skill, skillKey } from "./skill.ts";

/** The user of skills. A person who only lists skills has access to all of them. */
export type SkillHolder = Pick<Agent, "skills"> & Partial<Pick<Agent, "harness" | "tools" | "deny_tools">>;

/** Claude Code reads these folders itself and offers their skills to its model. */
export function isOfferedByHarness(holder: SkillHolder, skill: Skill): boolean {
  if (holder.harness !== "claude-code" || (skill.source !== "claude" && skill.source !== "user-claude")) return false;
  return holder.tools === null && holder.deny_tools?.includes("Skill") !== true;
}

/** `null` allows every skill, an empty list none. */
export function allowedSkills(skills: readonly Skill[], list: readonly string[] | null): readonly Skill[] {
  if (list === null) return skills;
  const entries = list.map((entry) => skillKey(entry));
  return skills.filter((skill) => entries.some((entry) => meets(entry, skill)));
}

/** The skills in an agent's file are preloaded in full. The configuration only restricts what it may use. */
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
