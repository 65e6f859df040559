/** An agent is a profile: harness, model, permission, prompt and tools. */
import { z } from "zod";
import { sandboxLevelSchema, sandboxSettingsSchema } from "./sandbox.ts";
import { isolationSchema } from "./worktree.ts";

export const permissionSchema = z.enum(["read", "write", "full", "auto"]);
/** `read` reads, `write` edits files, `full` runs anything, `auto` lets the harness decide and ask. */
export type Permission = z.infer<typeof permissionSchema>;

export const slugPattern = /^[a-z][a-z0-9]*([-_][a-z0-9]+)*$/;
export const slugMaxLength = 64;

/**
 * The source of an agent, strongest first: the project's configuration, a file in `.aegis/agents`, in `.claude/agents`
 * or in `~/.aegis/agents`, a plugin, a harness detected on this machine, Aegis itself.
 */
export const agentSourceSchema = z.enum(["config", "project", "claude", "user", "plugin", "detected", "builtin"]);
export type AgentSource = z.infer<typeof agentSourceSchema>;

/** Two agents may share a name. Only all three fields together identify one. */
export const agentIdentitySchema = z.object({
  source: agentSourceSchema,
  plugin: z.string().nullable(),
  slug: z.string(),
});
export type AgentIdentity = z.infer<typeof agentIdentitySchema>;

/** Limits on what an agent may start. Absent fields use the project's `subagents` setting. */
export const subagentLimitsSchema = z.strictObject({
  enabled: z.boolean().optional(),
  allow_agents: z.array(z.string().min(1, { error: "expected some text" })).optional(),
  max_children: z.int().min(1).optional(),
  max_spawn_depth: z.int().min(0).optional(),
  default_timeout: z.number().positive().optional(),
});

/** The MCP servers besides Aegis's own: none, those of the harness and of `.mcp.json`, or a list of them. */
export const agentMcpSchema = z.union(
  [z.enum(["none", "inherit"]), z.array(z.string().min(1, { error: "expected a server's name" }))],
  { error: "expected none, inherit or a list of servers' names" },
);
export type AgentMcp = z.infer<typeof agentMcpSchema>;

/**
 * What happens to work that a crash interrupted: `retry` gives it to the agent again, `fail` reports the failure to the
 * requester.
 */
export const onCrashSchema = z.enum(["retry", "fail"]);
export type OnCrash = z.infer<typeof onCrashSchema>;

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
  /** Settings for one harness: `command` and `args` of an ACP agent, `playbook` of the offline agent. */
  options: z.record(z.string(), z.unknown()),
  /** Native agents only. 0 is a valid temperature; `null` leaves the choice to the model. */
  temperature: z.number().nullable(),
  /** Maximum number of model calls in one turn; `null` leaves the choice to the harness. */
  max_turns: z.int().nullable(),
  /** An allowlist of tools. `null` if the agent does not set one; an empty list allows no tool. */
  tools: z.array(z.string()).nullable(),
  deny_tools: z.array(z.string()),
  /** Sessions only: the allowlists of the starters above this session. A tool must be on each list. */
  within: z.array(z.array(z.string())).optional(),
  /** Sessions only: the tools that need more are denied, although a person would be asked about them. */
  needs_at_most: z.literal("write").optional(),
  /** Its own settings; null leaves the choice to the project. */
  sandbox: sandboxSettingsSchema.shape.sandbox,
  allow: sandboxSettingsSchema.shape.allow,
  /** Sessions only: the settings of the starters above this session. It reaches nothing that one of them does not. */
  confined_within: z.array(sandboxSettingsSchema).optional(),
  skills: z.array(z.string()).nullable(),
  subagents: subagentLimitsSchema,
  /** Agents whose sessions and tasks this agent may end outside its own tree; `*` for every agent. */
  may_end: z.array(z.string()),
  mcp: agentMcpSchema,
  /** What happens to messages that a crash interrupted after the agent may have begun on them; `null` means `retry`. */
  on_crash: onCrashSchema.nullable(),
  /** Where sessions of this agent work; `null` means `none`. */
  isolation: isolationSchema.nullable(),
  /** The labels that the node of its sessions must have; `null` means that any node will do. */
  nodes: z.array(z.string()).nullable(),
  source: agentSourceSchema,
  /** The plugin that provides the agent, if the source is `plugin`. */
  plugin: z.string().nullable(),
  /** The file that defines the agent. */
  file: z.string().nullable(),
  /** The name that resolves to this agent: its slug, or `plugin:slug` if it was named exactly. */
  ref: z.string(),
  /** The agent that provides the fields this agent does not set: a name, or `plugin:name`. */
  extends: z.string().optional(),
  /** Agents of the same name that this agent takes precedence over, and the agent it extends. */
  overrides: z.array(agentIdentitySchema),
  /** Why the agent must not start: the user has not trusted what its file would run. Null if it may start. */
  refused: z.string().nullable(),
});
export type Agent = z.infer<typeof agentSchema>;

/** An agent as its source defines it. Null fields are taken from the project's default agent. */
export type AgentProfile = Omit<Agent, "harness" | "permission" | "ref" | "overrides"> & {
  harness: string | null;
  permission: Permission | null;
};

/** The fields that a copy of an agent starts with. */
export type AgentSeed = Pick<
  AgentProfile,
  | "description"
  | "prompt"
  | "harness"
  | "model"
  | "temperature"
  | "effort"
  | "permission"
  | "tools"
  | "deny_tools"
  | "skills"
>;

/** Defaults for fields that the source of an agent does not set. */
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
  sandbox: null,
  allow: null,
  skills: null,
  subagents: {},
  may_end: [],
  mcp: "none",
  on_crash: null,
  isolation: null,
  nodes: null,
  plugin: null,
  file: null,
  overrides: [],
  refused: null,
} satisfies Partial<Agent>;

/** An agent as clients see it. */
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
    /** The agent's file; `<plugin:NAME>` for an agent of a plugin, null for an agent without a file. */
    file_path: z.string().nullable(),
    default: z.boolean(),
    /** True for the scripted agent, which never calls a model. */
    offline: z.boolean(),
  });
export type AgentSummary = z.infer<typeof agentSummarySchema>;

/** A problem of an agent, for its author. An error disables the agent, a warning does not. */
export const agentDiagnosticSchema = z.object({
  level: z.enum(["error", "warning"]),
  agent: z.string().nullable(),
  plugin: z.string().nullable(),
  file: z.string().nullable(),
  /** Counts from 1; null for the file as a whole. */
  line: z.int().nullable(),
  message: z.string(),
});
export type AgentDiagnostic = z.infer<typeof agentDiagnosticSchema>;

/** A tool as seen by one agent. */
export const toolVerdictSchema = z.object({
  name: z.string(),
  /** `core` for tools of the native loop and their equivalents in harnesses, `plane` for Aegis's own. */
  kind: z.enum(["core", "plane", "plugin"]),
  plugin: z.string().nullable(),
  allowed: z.boolean(),
  reason: z.string(),
});
export type ToolVerdict = z.infer<typeof toolVerdictSchema>;

export const agentReachSchema = z.object({
  level: sandboxLevelSchema,
  /** Who set the level. */
  from: z.enum(["agent", "project"]),
  /** What it reaches in addition to the level. Paths are absolute. */
  write: z.array(z.string()),
  read: z.array(z.string()),
  hosts: z.array(z.string()),
});
export type AgentReach = z.infer<typeof agentReachSchema>;

export const agentDetailSchema = agentSummarySchema.extend({
  prompt: z.string(),
  temperature: z.number().nullable(),
  max_turns: z.int().nullable(),
  skills: z.array(z.string()).nullable(),
  mcp: agentMcpSchema,
  on_crash: onCrashSchema,
  isolation: isolationSchema,
  nodes: z.array(z.string()),
  /** What its programs reach, by its own settings and those of the project. */
  reach: agentReachSchema,
  /** What the agent's own file or entry sets; null where it leaves the choice to the default agent. */
  declared: agentSchema
    .pick({ model: true, effort: true, tools: true, deny_tools: true })
    .extend({ harness: z.string().nullable(), permission: permissionSchema.nullable() }),
  /** The agent it extends. */
  extends: z.string().nullable(),
  /** Every agent of this name; the one in use comes first. */
  candidates: z.array(agentIdentitySchema.extend({ file_path: z.string().nullable() })),
  tools: z.array(toolVerdictSchema),
  /** Which of these limits the harness cannot enforce; null if it enforces all of them. */
  scope_note: z.string().nullable(),
  diagnostics: z.array(agentDiagnosticSchema),
});
export type AgentDetail = z.infer<typeof agentDetailSchema>;

/** Returns `<plugin:NAME>` for an agent of a plugin. */
export function agentFilePath(agent: Pick<AgentProfile, "plugin" | "file">): string | null {
  return agent.plugin === null ? agent.file : `<plugin:${agent.plugin}>`;
}

/** The text of the file that defines an agent. */
export const agentSourceTextSchema = z.object({
  file: z.string(),
  text: z.string(),
  /** Identifies the text; a change is refused if the file has another one by then. */
  digest: z.string(),
  /** Why the file cannot be changed here; null if it can. */
  locked: z.string().nullable(),
});
export type AgentSourceText = z.infer<typeof agentSourceTextSchema>;
