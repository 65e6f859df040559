/** The endpoints of subagents and the pool. */
import { z } from "zod";
import { count, type Endpoint, flag, none } from "./api-parts.ts";
import {
  killOutcomeSchema,
  pooledAgentViewSchema,
  subagentRunIdSchema,
  subagentStatusSchema,
  subagentViewSchema,
  treeBudgetSchema,
  treeSchema,
} from "./subagent.ts";

const runPath = z.object({ run_id: subagentRunIdSchema });

export const subagentEndpoints = {
  listSubagents: {
    summary: "Subagents, oldest first",
    path: none,
    query: z.object({
      status: subagentStatusSchema.optional(),
      archived: flag.describe("also those that were cleaned up"),
      limit: count(1000, 500),
    }),
    body: none,
    output: z.object({ subagents: z.array(subagentViewSchema) }),
  },
  getSubagent: {
    summary: "One subagent and what became of it",
    path: runPath,
    query: none,
    body: none,
    output: z.object({ subagent: subagentViewSchema }),
  },
  killSubagent: {
    summary: "End a subagent and everything below it",
    path: runPath,
    query: none,
    body: none,
    output: killOutcomeSchema,
  },
  listTrees: {
    summary: "What the agents below each open session have used up of the budget",
    path: none,
    query: none,
    body: none,
    output: z.object({ budget: treeBudgetSchema, trees: z.array(treeSchema) }),
  },
  listPool: {
    summary: "Pooled agents, the last used first",
    path: none,
    query: none,
    body: none,
    output: z.object({ max: z.number().int(), agents: z.array(pooledAgentViewSchema) }),
  },
} satisfies Record<string, Endpoint>;
