/** The endpoints of agents. */
import { z } from "zod";
import { agentDetailSchema, agentDiagnosticSchema, agentSummarySchema } from "./agent.ts";
import { type Endpoint, none } from "./api-parts.ts";

export const agentEndpoints = {
  listAgents: {
    summary: "The agents that can be started, and what is wrong with those that cannot",
    path: none,
    query: none,
    body: none,
    output: z.object({ agents: z.array(agentSummarySchema), diagnostics: z.array(agentDiagnosticSchema) }),
  },
  getAgent: {
    summary: "One agent: where it comes from, what it stands in front of, which tools it has and why",
    path: z.object({ agent: z.string().describe("an agent's name, or plugin:agent") }),
    query: none,
    body: none,
    output: z.object({ agent: agentDetailSchema }),
  },
} satisfies Record<string, Endpoint>;
