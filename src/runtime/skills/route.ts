/** Whether a message is for another agent than the one it was sent to, because the skill it calls for is. */
import type { Agent } from "../../contract/agent.ts";
import { AegisError } from "../../contract/errors.ts";
import { allowedSkills } from "./access.ts";
import type { Classifier } from "./classify.ts";
import { findMentions } from "./mentions.ts";
import type { Skill } from "./skill.ts";
import type { AgentSkills, Skills } from "./skills.ts";

export type Route = { skill: Skill; agent: Agent };

export type RouteOptions = {
  skills: Skills;
  classifier: Classifier;
  /** By name; the default agent without one. Null when there is none of that name. */
  find: (name: string | undefined) => Agent | null;
};

/** What skills of other makers call whoever answers when nobody is named. */
const whoeverAnswers = "default";

export class SkillRouter {
  readonly #options: RouteOptions;

  constructor(options: RouteOptions) {
    this.#options = options;
  }

  /**
   * Where a person's message goes instead of `current`; null when it stays. Throws `not_found` for a `/skill` that is
   * not there, so that the sender learns it at once.
   */
  async route(text: string, current: Agent | null, signal: AbortSignal): Promise<Route | null> {
    const { skills } = this.#options;
    if (!skills.offers) return null;
    const all = await skills.of({ skills: null }, signal);
    const own = current === null ? all : await skills.of(current, signal);
    const { found, problem } = findMentions(text, all.names);
    if (problem !== null)
      throw new AegisError("not_found", problem, { hint: "aegis skill list shows which there are" });
    const [named] = found;
    const called = named === undefined ? await this.#about(text, all, signal) : [named.skill];
    for (const skill of called) {
      const agent = skill.agent === null ? null : this.#agentFor(skill.agent);
      if (agent === null || agent.ref === current?.ref) continue;
      if (allowedSkills([skill], agent.skills).length > 0) return { skill, agent };
    }
    if (named !== undefined && current !== null && !own.skills.includes(named.skill))
      throw new AegisError("forbidden", `the agent "${current.slug}" may not use the skill "${named.skill.name}"`);
    return null;
  }

  async #about(text: string, { matcher, skills }: AgentSkills, signal: AbortSignal): Promise<Skill[]> {
    // Without a skill that is for somebody in particular there is nothing to decide.
    if (!skills.some((skill) => skill.agent !== null)) return [];
    const most = this.#options.skills.settings.max_per_turn;
    const matches = matcher.match(text).filter(({ skill }) => skill.modelInvocable);
    const chosen = await this.#options.classifier.choose(
      text,
      matches.map(({ skill }) => skill),
      signal,
    );
    return (chosen ?? matches.filter(({ strong }) => strong).map(({ skill }) => skill)).slice(0, most);
  }

  #agentFor(name: string): Agent | null {
    return this.#options.find(name === whoeverAnswers ? undefined : name);
  }
}
