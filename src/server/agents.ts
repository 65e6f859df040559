import type { Handlers } from "./adapter.ts";
import type { Services } from "./services.ts";

export type AgentHandlers = Pick<Handlers, "listAgents" | "getAgent">;

export function agentHandlers({ agents }: Services): AgentHandlers {
  return {
    listAgents: () => ({ agents: agents.list(), diagnostics: agents.diagnostics() }),
    getAgent: ({ path }) => ({ agent: agents.describe(path.agent) }),
  };
}
