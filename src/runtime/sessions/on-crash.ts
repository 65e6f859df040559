/** Determines what happens to work that a crash interrupted. */
import type { OnCrash } from "../../contract/agent.ts";
import type { SessionRow } from "../../store/store.ts";
import type { AgentTable } from "../tables/agents.ts";

/** `retry` for an agent without the setting, and for one that no longer exists. */
export function onCrashOf(agents: Pick<AgentTable, "loadAgent">, { agent }: Pick<SessionRow, "agent">): OnCrash {
  return agents.loadAgent(agent)?.on_crash ?? "retry";
}
