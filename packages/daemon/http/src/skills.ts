import type { SkillInstaller } from "@aegis/installer/skill/installer.ts";
import type { Skills } from "@aegis/skills/skills.ts";
import type { Handlers } from "./requests.ts";

/** What these handlers call. */
export type SkillServices = {
  skills: Pick<Skills, "list" | "holder" | "search" | "show">;
  skillInstall: Pick<SkillInstaller, "search" | "info" | "list" | "install" | "update" | "remove">;
};

export function skillHandlers({ skills, skillInstall }: SkillServices) {
  return {
    listSkills: ({ query }, signal) => skills.list(query, signal),
    searchSkills: async ({ query: { query, agent, limit } }, signal) => ({
      skills: await skills.search(query, skills.holder(agent), limit, signal),
    }),
    getSkill: async ({ path }, signal) => ({ skill: await skills.show(path.skill, signal) }),
    searchRegistry: ({ query }, signal) => skillInstall.search(query.q, query.limit, signal),
    getRegistrySkill: async ({ query }, signal) => ({ skill: await skillInstall.info(query.skill, signal) }),
    listInstalledSkills: async () => ({ skills: await skillInstall.list() }),
    installSkill: ({ body }, signal) => {
      const { source, name = null, scope, force, accept = null, override } = body;
      return skillInstall.install({ source, name, scope, force, accept, override, askFirst: false }, signal);
    },
    updateSkill: ({ path, body }, signal) => {
      const { scope, force, accept = null, override } = body;
      return skillInstall.update(path.skill, { scope, force, accept, override }, signal);
    },
    removeSkill: async ({ path, query }) => ({ removed: await skillInstall.remove(path.skill, query) }),
  } satisfies Partial<Handlers>;
}
