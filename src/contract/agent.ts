/** An agent is a profile: which harness runs it, with what model, rights and prompt. */
import { z } from "zod";

export const permissionSchema = z.enum(["read", "write", "full", "auto"]);
/** `read` looks, `write` edits files, `full` runs anything, `auto` lets the harness decide and ask. */
export type Permission = z.infer<typeof permissionSchema>;

export const slugPattern = /^[a-z][a-z0-9]*([-_][a-z0-9]+)*$/;

/** Agents that are there without being declared. */
export const builtinAgents: readonly string[] = ["offline"];

export const agentSchema = z.object({
  slug: z.string().regex(slugPattern),
  description: z.string(),
  harness: z.string(),
  /** `null` leaves the choice to the harness. */
  model: z.string().nullable(),
  effort: z.enum(["low", "medium", "high"]).nullable(),
  permission: permissionSchema,
  /** The agent's own system prompt, already read from its file. */
  prompt: z.string(),
  env: z.record(z.string(), z.string()),
  /** Settings that only one harness understands: `command` and `args` of an ACP agent, `playbook` of the offline one. */
  options: z.record(z.string(), z.unknown()),
  source: z.enum(["config", "detected", "builtin"]),
});
export type Agent = z.infer<typeof agentSchema>;

/** What clients see of an agent. */
export const agentSummarySchema = agentSchema
  .pick({ slug: true, description: true, harness: true, model: true, effort: true, permission: true, source: true })
  .extend({
    default: z.boolean(),
    /** True for the scripted agent, which never talks to a model. */
    offline: z.boolean(),
  });
export type AgentSummary = z.infer<typeof agentSummarySchema>;
