/** The endpoints of subagents and the pool. */
import { z } from "zod";
import { count, type Endpoint, flag, none } from "./api-parts.ts";
import { sessionIdSchema } from "./schema-ids.ts";
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
    summary: "List subagents, oldest first",
    path: none,
    query: z.object({
      status: subagentStatusSchema.optional(),
      archived: flag.describe("also include archived subagents"),
      limit: count(1000, 500),
    }),
    body: none,
    output: z.object({ subagents: z.array(subagentViewSchema) }),
  },
  getSubagent: {
    summary: "Get one subagent and its outcome",
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
    summary: "List the budget usage of each tree: all open trees, then the most recently closed ones",
    path: none,
    query: z.object({ root: sessionIdSchema.optional().describe("only the tree of this session") }),
    body: none,
    output: z.object({ budget: treeBudgetSchema, trees: z.array(treeSchema) }),
  },
  listPool: {
    summary: "List pooled agents, most recently used first",
    path: none,
    query: none,
    body: none,
    output: z.object({ max: z.number().int(), agents: z.array(pooledAgentViewSchema) }),
  },
} satisfies Record<string, Endpoint>;
