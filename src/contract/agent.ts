/** An agent is a profile: which harness runs it, with what model, rights, prompt and tools. */
import { z } from "zod";

export const permissionSchema = z.enum(["read", "write", "full", "auto"]);
/** `read` looks, `write` edits files, `full` runs anything, `auto` lets the harness decide and ask. */
export type Permission = z.infer<typeof permissionSchema>;

export const slugPattern = /^[a-z][a-z0-9]*([-_][a-z0-9]+)*$/;
export const slugMaxLength = 64;

/**
 * Where an agent comes from, the strongest first: the project's configuration, a file in `.aegis/agents`, in
 * `.claude/agents`, in `~/.aegis/agents`, a plugin, a harness found on this machine, Aegis itself.
 */
export const agentSourceSchema = z.enum(["config", "project", "claude", "user", "plugin", "detected", "builtin"]);
export type AgentSource = z.infer<typeof agentSourceSchema>;

/** Two agents may share a name; nothing but all three together says which one is meant. */
export const agentIdentitySchema = z.object({
  source: agentSourceSchema,
  plugin: z.string().nullable(),
  slug: z.string(),
});
export type AgentIdentity = z.infer<typeof agentIdentitySchema>;

/** What an agent may start. What is absent is the project's `subagents` setting. */
export const subagentLimitsSchema = z.strictObject({
  enabled: z.boolean().optional(),
  allow_agents: z.array(z.string().min(1, { error: "expected some text" })).optional(),
  max_children: z.int().min(1).optional(),
  max_spawn_depth: z.int().min(0).optional(),
  default_timeout: z.number().positive().optional(),
});

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
  /** Native agents only; 0 is a temperature, `null` leaves it to the model. */
  temperature: z.number().nullable(),
  /** Model calls in one turn; `null` leaves it to the harness. */
  max_turns: z.number().int().nullable(),
  /** Exactly these tools; `null` when the agent does not say, an empty list for none at all. */
  tools: z.array(z.string()).nullable(),
  deny_tools: z.array(z.string()),
  /** In a session only: the lists of tools that those who started it are held to. What one does not name is refused. */
  within: z.array(z.array(z.string())).optional(),
  skills: z.array(z.string()).nullable(),
  subagents: subagentLimitsSchema,
  source: agentSourceSchema,
  /** The plugin it comes from, with source `plugin`. */
  plugin: z.string().nullable(),
  /** The file it was read from. */
  file: z.string().nullable(),
  /** The name that finds it again: its slug, or `plugin:slug` when it was named exactly. */
  ref: z.string(),
  /** Agents of the same name that this one stands in front of. */
  overrides: z.array(agentIdentitySchema),
  /** Why it must not be started: nobody has agreed to what its file would run. Null when it may. */
  refused: z.string().nullable(),
});
export type Agent = z.infer<typeof agentSchema>;

/** An agent as its source describes it. What is null is taken from the project's default agent. */
export type AgentProfile = Omit<Agent, "harness" | "permission" | "ref" | "overrides"> & {
  harness: string | null;
  permission: Permission | null;
};

/** What an agent is where its source says nothing. */
export const unsaidAgentFields = {
  model: null,
  effort: null,
  prompt: "",
  env: {},
  options: {},
  temperature: null,
  max_turns: null,
  tools: null,
  deny_tools: [],
  skills: null,
  subagents: {},
  plugin: null,
  file: null,
  overrides: [],
  refused: null,
} satisfies Partial<Agent>;

/** What clients see of an agent. */
export const agentSummarySchema = agentSchema
  .pick({
    slug: true,
    description: true,
    harness: true,
    model: true,
    effort: true,
    permission: true,
    source: true,
    plugin: true,
  })
  .extend({
    /** The agent's file; `<plugin:NAME>` for one that a plugin brings, null for one without a file. */
    file_path: z.string().nullable(),
    default: z.boolean(),
    /** True for the scripted agent, which never talks to a model. */
    offline: z.boolean(),
  });
export type AgentSummary = z.infer<typeof agentSummarySchema>;

/** Something about an agent that its author should know. An error keeps the agent from being used, a warning does not. */
export const agentDiagnosticSchema = z.object({
  level: z.enum(["error", "warning"]),
  agent: z.string().nullable(),
  plugin: z.string().nullable(),
  file: z.string().nullable(),
  /** Counts from 1; null for the file as a whole. */
  line: z.number().int().nullable(),
  message: z.string(),
});
export type AgentDiagnostic = z.infer<typeof agentDiagnosticSchema>;

/** A tool as one agent sees it. */
export const toolVerdictSchema = z.object({
  name: z.string(),
  /** `core` for the tools of the native loop and their namesakes in harnesses, `plane` for Aegis's own. */
  kind: z.enum(["core", "plane", "plugin"]),
  plugin: z.string().nullable(),
  allowed: z.boolean(),
  reason: z.string(),
});
export type ToolVerdict = z.infer<typeof toolVerdictSchema>;

export const agentDetailSchema = agentSummarySchema.extend({
  prompt: z.string(),
  temperature: z.number().nullable(),
  max_turns: z.number().int().nullable(),
  skills: z.array(z.string()).nullable(),
  /** Every agent of this name, the one in use first. */
  candidates: z.array(agentIdentitySchema.extend({ file_path: z.string().nullable() })),
  tools: z.array(toolVerdictSchema),
  /** What of the above its harness cannot be held to; null when everything is. */
  scope_note: z.string().nullable(),
  diagnostics: z.array(agentDiagnosticSchema),
});
export type AgentDetail = z.infer<typeof agentDetailSchema>;

/** `<plugin:NAME>` stands for the file of an agent that a plugin brings. */
export function agentFilePath(agent: Pick<AgentProfile, "plugin" | "file">): string | null {
  return agent.plugin === null ? agent.file : `<plugin:${agent.plugin}>`;
}
