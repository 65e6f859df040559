/** The agents that can be started. A new configuration replaces them whole; sessions keep the name, not the profile. */
import type { Agent, AgentSummary } from "../../contract/agent.ts";
import { AegisError } from "../../contract/errors.ts";
import { didYouMean } from "../../lib/nearest.ts";

/** The harness of the scripted agent, which never talks to a model. */
export const offlineHarness = "scripted";

export type AgentChoice = {
  slug: string;
  /** Why this agent is the default, in words. */
  why: string;
};

export class AgentRegistry {
  #agents = new Map<string, Agent>();
  #choice: AgentChoice;

  constructor(agents: readonly Agent[], choice: AgentChoice) {
    this.#choice = choice;
    this.replace(agents, choice);
  }

  replace(agents: readonly Agent[], choice: AgentChoice): void {
    this.#agents = new Map(agents.map((agent) => [agent.slug, agent]));
    this.#choice = choice;
  }

  get choice(): AgentChoice {
    return this.#choice;
  }

  /** The agent of that name, or the default one. Throws `not_found` with the nearest name. */
  get(slug: string = this.#choice.slug): Agent {
    const agent = this.#agents.get(slug);
    if (agent) return agent;
    const names = [...this.#agents.keys()];
    throw new AegisError("not_found", `no agent "${slug}"${didYouMean(slug, names)}`, {
      hint: `agents here: ${names.join(", ")}`,
    });
  }

  find(slug: string): Agent | null {
    return this.#agents.get(slug) ?? null;
  }

  list(): AgentSummary[] {
    return [...this.#agents.values()].map((agent) => ({
      slug: agent.slug,
      description: agent.description,
      harness: agent.harness,
      model: agent.model,
      effort: agent.effort,
      permission: agent.permission,
      source: agent.source,
      default: agent.slug === this.#choice.slug,
      offline: agent.harness === offlineHarness,
    }));
  }
}
