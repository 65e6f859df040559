/** Agents whose harness is the ACP fixture, with the flags a test wants. */
import { type Agent, unsaidAgentFields } from "@aegis/contract/agent.ts";
import { fixture } from "@aegis/test/helpers/pids.ts";

export function fixtureAgent(flags: readonly string[] = [], more: Partial<Agent> = {}): Agent {
  return {
    ...unsaidAgentFields,
    slug: "fixture",
    ref: "fixture",
    description: "",
    harness: "acp",
    permission: "auto",
    options: { command: [process.execPath, fixture("acp-agent.mjs")], args: [...flags] },
    source: "config",
    ...more,
  };
}
