/** Agents for tests. */
import type { Agent } from "../../src/contract/agent.ts";

export function agentOf(change: Partial<Agent> & Pick<Agent, "harness">): Agent {
  return {
    slug: "tester",
    description: "for tests",
    model: null,
    effort: null,
    permission: "write",
    prompt: "",
    env: {},
    options: {},
    source: "config",
    ...change,
  };
}
