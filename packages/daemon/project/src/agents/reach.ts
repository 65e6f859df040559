/** What the programs of an agent reach, for people. */
import { confinementsOf } from "@aegis/agents/limits.ts";
import type { Agent, AgentReach } from "@aegis/contract/agent.ts";
import { hostRuleText } from "@aegis/sandbox/host-rules.ts";
import { type PathBase, type ProjectReach, reachOf } from "@aegis/sandbox/reach.ts";

export function agentReach(agent: Agent, project: ProjectReach, base: PathBase): AgentReach {
  const { level, write, read, hosts } = reachOf(confinementsOf(agent), project, base);
  const own = agent.sandbox === null || level !== agent.sandbox ? "project" : "agent";
  return { level, from: own, write: [...write], read: [...read], hosts: hosts.map(hostRuleText) };
}
