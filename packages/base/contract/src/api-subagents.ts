/** The endpoints of subagents and the pool. */
import { z } from "zod";
import { count, endpoint, flag } from "./api-parts.ts";
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
  listSubagents: endpoint("List subagents, oldest first", {
    query: z.object({
      status: subagentStatusSchema.optional(),
      archived: flag.describe("also include archived subagents"),
      limit: count(1000, 500),
    }),
    output: z.object({ subagents: z.array(subagentViewSchema) }),
  }),
  getSubagent: endpoint("Get one subagent and its outcome", {
    path: runPath,
    output: z.object({ subagent: subagentViewSchema }),
  }),
  killSubagent: endpoint("End a subagent and everything below it", { path: runPath, output: killOutcomeSchema }),
  listTrees: endpoint("List the budget usage of each tree: all open trees, then the most recently closed ones", {
    query: z.object({ root: sessionIdSchema.optional().describe("only the tree of this session") }),
    output: z.object({ budget: treeBudgetSchema, trees: z.array(treeSchema) }),
  }),
  listPool: endpoint("List pooled agents, most recently used first", {
    output: z.object({ max: z.int(), agents: z.array(pooledAgentViewSchema) }),
  }),
};
