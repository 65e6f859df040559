/** Decides whether a message goes to another agent because the skill that it requires belongs to that agent. */
import type { Agent } from "@aegis/contract/agent.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { allowedSkills } from "./access.ts";
import type { Classifier } from "./classify.ts";
import { findMentions } from "./mentions.ts";
import { projectDefaultAgent, type SkillOutline } from "./skill.ts";
import type { AgentSkills, Skills } from "./skills.ts";

export type Route = { skill: SkillOutline; agent: Agent };

export type RouteOptions = {
  skills: Skills;
  classifier: Classifier;
  /** The agent with a name, or the default agent. Null if there is none. */
  find: (name: string | undefined) => Agent | null;
};

export class SkillRouter {
  readonly #options: RouteOptions;

  constructor(options: RouteOptions) {
    this.#options = options;
  }

  /**
   * The new target of a person's message; null if it stays with `current`. Throws `not_found` for an unknown `/skill`,
   * so that the sender gets the error immediately.
   */
  async route(text: string, current: Agent | null, signal: AbortSignal): Promise<Route | null> {
    const { skills } = this.#options;
    if (!skills.offers) return null;
    const all = await skills.of({ skills: null }, signal);
    const own = current === null ? all : await skills.of(current, signal);
    const { found, problem } = findMentions(text, all.names);
    if (problem !== null) throw new AegisError("not_found", problem, { hint: "aegis skill list shows them" });
    const [named] = found;
    const called = named === undefined ? await this.#about(text, all, signal) : [named.skill];
    for (const skill of called) {
      const agent = skill.agent === null ? null : this.#agentFor(skill.agent);
      if (agent === null || agent.ref === current?.ref) continue;
      if (allowedSkills([skill], agent.skills).length > 0) return { skill, agent };
    }
    // Compared by name, because the library may have reloaded the page between the two views.
    const mayUse = (skill: SkillOutline) =>
      own.skills.some((one) => one.plugin === skill.plugin && one.name === skill.name);
    if (named !== undefined && current !== null && !mayUse(named.skill))
      throw new AegisError("forbidden", `the agent "${current.slug}" may not use the skill "${named.skill.name}"`);
    return null;
  }

  async #about(text: string, { matcher, skills }: AgentSkills, signal: AbortSignal): Promise<SkillOutline[]> {
    // Without a skill that belongs to an agent there is nothing to decide.
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
    return this.#options.find(name === projectDefaultAgent ? undefined : name);
  }
}
