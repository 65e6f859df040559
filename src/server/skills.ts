import type { Handlers } from "./adapter.ts";
import type { Services } from "./services.ts";

export type SkillHandlers = Pick<Handlers, "listSkills" | "searchSkills" | "getSkill">;

export function skillHandlers({ skills }: Services): SkillHandlers {
  return {
    listSkills: ({ query }, signal) => skills.list(query, signal),
    searchSkills: async ({ query }, signal) => ({ skills: await skills.search(query, signal) }),
    getSkill: async ({ path }, signal) => ({ skill: await skills.show(path.skill, signal) }),
  };
}
