/** Decides which sessions, tasks and turns an agent may end. Every tool that closes, cancels or interrupts uses it. */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Starter } from "@aegis/contract/starter.ts";
import type { SessionRow } from "@aegis/store/store.ts";
import type { AgentTable } from "../agent-table.ts";
import { isNamed, type NamedAgent } from "../limits.ts";

/** The target: the tree that started it, and the agent that does the work. */
export type Endable = { root: SessionId | null; agent: NamedAgent | null; name: string };

/** Returns null if allowed; otherwise the reason, in words for the agent. */
export function endRefusal({ root, agent }: Pick<Starter, "root" | "agent">, target: Endable): string | null {
  if (target.root !== null && target.root === root) return null;
  if (target.agent !== null && isNamed(agent, target.agent, agent.may_end)) return null;
  const who = target.agent === null ? "" : ` "${agentName(target.agent)}"`;
  return `neither you nor your tree started ${target.name}, and may_end of your agent does not name its agent${who}`;
}

export function endableSession({ root, agent, handle }: SessionRow, agents: AgentTable): Endable {
  return { root, agent: agents.loadAgent(agent), name: `'${handle}'` };
}

function agentName({ plugin, slug }: NamedAgent): string {
  return plugin === null ? slug : `${plugin}:${slug}`;
}
