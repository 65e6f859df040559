import type { Skills } from "../runtime/skills/skills.ts";
import type { Handlers } from "./adapter.ts";

/** What these handlers call. */
export type SkillServices = { skills: Pick<Skills, "list" | "holder" | "search" | "show"> };

export function skillHandlers({ skills }: SkillServices) {
  return {
    listSkills: ({ query }, signal) => skills.list(query, signal),
    searchSkills: async ({ query: { query, agent, limit } }, signal) => ({
      skills: await skills.search(query, skills.holder(agent), limit, signal),
    }),
    getSkill: async ({ path }, signal) => ({ skill: await skills.show(path.skill, signal) }),
  } satisfies Partial<Handlers>;
}
