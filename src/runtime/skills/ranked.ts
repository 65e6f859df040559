/** The skills that an agent may load itself, the best match for a text first. */
import type { HookSkill } from "../../contract/hook.ts";
import type { SkillHolder } from "./access.ts";
import type { Skills } from "./skills.ts";

export async function rankedSkills(
  skills: Skills,
  agent: SkillHolder,
  text: string,
  signal: AbortSignal,
): Promise<HookSkill[]> {
  const { listed, matcher } = await skills.of(agent, signal);
  const scores = new Map(matcher.match(text).map(({ skill, score }) => [skill, score]));
  const ranked = listed.map((skill) => ({
    name: skill.name,
    description: skill.description,
    score: Number((scores.get(skill) ?? 0).toFixed(3)),
  }));
  return ranked.sort((a, b) => b.score - a.score);
}
