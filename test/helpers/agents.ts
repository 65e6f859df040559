/** Agents for tests. */
import { type Agent, unsaidAgentFields } from "@aegis/contract/agent.ts";

export function agentOf(change: Partial<Agent> & Pick<Agent, "harness">): Agent {
  return {
    ...unsaidAgentFields,
    slug: "tester",
    ref: "tester",
    description: "for tests",
    permission: "write",
    source: "config",
    ...change,
  };
}
