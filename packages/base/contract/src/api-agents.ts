/** The endpoints of agents. */
import { z } from "zod";
import { agentDetailSchema, agentDiagnosticSchema, agentSourceTextSchema, agentSummarySchema } from "./agent.ts";
import { endpoint } from "./api-parts.ts";

const agentPath = z.object({ agent: z.string().min(1).max(200).describe("an agent's name") });
const sourceText = z.string().max(1 << 20);

export const agentEndpoints = {
  listAgents: endpoint("List the agents, and the problems of those that cannot start", {
    output: z.object({ agents: z.array(agentSummarySchema), diagnostics: z.array(agentDiagnosticSchema) }),
  }),
  getAgent: endpoint("Get one agent: its source, the agents it overrides, and its tools with the reason for each", {
    path: z.object({ agent: z.string().describe("an agent's name, or plugin:agent") }),
    output: z.object({ agent: agentDetailSchema }),
  }),
  getAgentSource: endpoint("Get the text of an agent's file", {
    path: agentPath,
    output: z.object({ source: agentSourceTextSchema }),
  }),
  checkAgentSource: endpoint("Validate a text as the file of an agent, without saving it", {
    path: agentPath,
    body: z.object({ text: sourceText }),
    output: z.object({ diagnostics: z.array(agentDiagnosticSchema) }),
  }),
  saveAgentSource: endpoint("Replace the file of an agent, if it has not changed since it was read", {
    path: agentPath,
    body: z.object({
      text: sourceText,
      digest: z
        .string()
        .max(200)
        .nullable()
        .describe("the digest of the text that was read; null creates a file in .aegis/agents"),
    }),
    output: z.object({ source: agentSourceTextSchema, diagnostics: z.array(agentDiagnosticSchema) }),
  }),
};
