/** Agents whose harness is the ACP fixture, with the flags a test wants. */
import type { Agent } from "../../../src/contract/agent.ts";
import { fixture } from "../../helpers/pids.ts";

export function fixtureAgent(flags: readonly string[] = [], more: Partial<Agent> = {}): Agent {
  return {
    slug: "fixture",
    description: "",
    harness: "acp",
    model: null,
    effort: null,
    permission: "auto",
    prompt: "",
    env: {},
    options: { command: [process.execPath, fixture("acp-agent.mjs")], args: [...flags] },
    source: "config",
    ...more,
  };
}
