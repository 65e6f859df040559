/** What clients can ask about skills. */
import type { AgentRegistry } from "../../runtime/registry/agents.ts";
import type { SkillService } from "../../server/services.ts";
import type { SkillParts } from "../build-skills.ts";

export function skillService(runtime: { skills: SkillParts; agents: AgentRegistry }): SkillService {
  const { skills } = runtime.skills;
  return {
    list: (query, signal) => skills.list(query, signal),
    search: ({ query, agent, limit }, signal) =>
      skills.search(query, agent === undefined ? { skills: null } : runtime.agents.get(agent), limit, signal),
    show: (name, signal) => skills.show(name, signal),
  };
}
