import type { AgentDetail, AgentDiagnostic, AgentSourceText, AgentSummary } from "@aegis/contract/agent.ts";
import type { Handlers } from "./requests.ts";

/** What these handlers call. */
export type AgentServices = {
  agents: {
    list(): AgentSummary[];
    diagnostics(): AgentDiagnostic[];
    /** By name or `plugin:name`. Throws `not_found` with the nearest one. */
    describe(reference: string): AgentDetail;
    /** Reads the file of an agent. Throws `not_found` if it has none. */
    source(name: string): Promise<AgentSourceText>;
    /** Everything that is wrong with a text as the file of this agent. */
    check(name: string, text: string): Promise<AgentDiagnostic[]>;
    /** Throws `conflict` if the file has changed, and `invalid` if the agent would be invalid. */
    save(
      name: string,
      change: { text: string; digest: string | null },
    ): Promise<{ source: AgentSourceText; diagnostics: AgentDiagnostic[] }>;
  };
};

export function agentHandlers({ agents }: AgentServices) {
  return {
    listAgents: () => ({ agents: agents.list(), diagnostics: agents.diagnostics() }),
    getAgent: ({ path }) => ({ agent: agents.describe(path.agent) }),
    getAgentSource: async ({ path }) => ({ source: await agents.source(path.agent) }),
    checkAgentSource: async ({ path, body }) => ({ diagnostics: await agents.check(path.agent, body.text) }),
    saveAgentSource: ({ path, body }) => agents.save(path.agent, body),
  } satisfies Partial<Handlers>;
}
