/** The agent that started a task or a run, with its rights at that time. Stored with the task or run. */
import { z } from "zod";
import { agentSchema } from "./agent.ts";
import { sessionIdSchema } from "./schema-ids.ts";
import { sessionLimitsSchema } from "./session.ts";

/** The fields of an agent that determine what it may start and with which rights. */
export const starterAgentSchema = agentSchema.pick({
  slug: true,
  source: true,
  plugin: true,
  overrides: true,
  permission: true,
  tools: true,
  deny_tools: true,
  within: true,
  needs_at_most: true,
  confined_within: true,
  subagents: true,
  may_end: true,
});
export type StarterAgent = z.infer<typeof starterAgentSchema>;

export const starterSchema = z.object({
  session: sessionIdSchema,
  /** The root session of the starter's tree. */
  root: sessionIdSchema,
  /** The starter's own depth in that tree. */
  depth: z.int(),
  /** The starter's agent, limited by its session. */
  agent: starterAgentSchema,
  /** The limits of the starter's session; null if a person started it. */
  limits: sessionLimitsSchema.nullable(),
  /** True if the agent itself made the request, so that its commands need the same approval as the agent's own. */
  by_agent: z.boolean().optional(),
});
export type Starter = z.infer<typeof starterSchema>;
