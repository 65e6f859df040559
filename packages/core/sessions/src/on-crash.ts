/** Determines what happens to work that a crash interrupted. */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import type { OnCrash } from "@aegis/contract/agent.ts";
import type { SessionRow } from "@aegis/store/store.ts";

/** `retry` for an agent without the setting, and for one that no longer exists. */
export function onCrashOf(agents: Pick<AgentTable, "loadAgent">, { agent }: Pick<SessionRow, "agent">): OnCrash {
  return agents.loadAgent(agent)?.on_crash ?? "retry";
}
