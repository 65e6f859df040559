import type { Handlers } from "./adapter.ts";
import type { Services } from "./services.ts";

export type SkillInstallHandlers = Pick<
  Handlers,
  "searchRegistry" | "getRegistrySkill" | "listInstalledSkills" | "installSkill" | "updateSkill" | "removeSkill"
>;

export function skillInstallHandlers({ skillInstall }: Services): SkillInstallHandlers {
  return {
    searchRegistry: ({ query }, signal) => skillInstall.search(query.q, query.limit, signal),
    getRegistrySkill: async ({ query }, signal) => ({ skill: await skillInstall.info(query.skill, signal) }),
    listInstalledSkills: async () => ({ skills: await skillInstall.list() }),
    installSkill: ({ body }, signal) => {
      const { source, name = null, scope, force, accept = null } = body;
      return skillInstall.install({ source, name, scope, force, accept, askFirst: false }, signal);
    },
    updateSkill: ({ path, body }, signal) => {
      const { scope, force, accept = null } = body;
      return skillInstall.update(path.skill, { scope, force, accept }, signal);
    },
    removeSkill: async ({ path, query }, signal) => ({ removed: await skillInstall.remove(path.skill, query, signal) }),
  };
}
