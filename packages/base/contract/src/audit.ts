/** The audit: who may do what in a project, what the user has trusted, and what should be fixed. */
import { z } from "zod";
import { permissionSchema } from "./agent.ts";
import { sandboxLevelSchema } from "./sandbox.ts";

/** Whether an agent may do something: no, after a person approves it, or yes. */
export const leaveSchema = z.enum(["no", "asks", "yes"]);
export type Leave = z.infer<typeof leaveSchema>;

export const auditAgentSchema = z.object({
  agent: z.string(),
  harness: z.string(),
  model: z.string().nullable(),
  source: z.string(),
  plugin: z.string().nullable(),
  permission: permissionSchema,
  /** Why the agent must not start; null if it may. */
  refused: z.string().nullable(),
  sandbox: sandboxLevelSchema.describe("how the operating system confines its programs"),
  edit: leaveSchema.describe("change files"),
  run: leaveSchema.describe("run commands"),
  fetch: leaveSchema.describe("fetch from the network with a tool"),
  tools: z.array(z.string()).describe("the tools that the agent sees"),
  withheld: z.array(z.string()).describe("the existing tools that the agent does not see"),
  /** The names of the variables that the agent's process receives besides the minimal environment. */
  secrets: z.array(z.string()),
  /** Agents it may start beyond its own list of tools. */
  allow_agents: z.array(z.string()).nullable(),
  /** Agents whose sessions and tasks it may end, regardless of who started them. */
  may_end: z.array(z.string()),
  /** Which of these limits the harness cannot enforce. */
  note: z.string().nullable(),
});
export type AuditAgent = z.infer<typeof auditAgentSchema>;

export const auditGateSchema = z.object({
  plugin: z.string(),
  /** The event and the name, such as `pre_tool_use (check)`. */
  hook: z.string(),
  /** `missing`: the gate is recorded but not loaded as recorded, so the calls that it guards are denied. */
  state: z.enum(["active", "missing"]),
  /** Why it is missing. */
  reason: z.string().nullable(),
});
export type AuditGate = z.infer<typeof auditGateSchema>;

export const auditAccessSchema = z.object({
  /** A browser, a person over a channel, a program, a webhook or a schedule. */
  who: z.string(),
  may: z.string(),
  since: z.string().nullable(),
  /** The command or edit that ends the access. */
  fix: z.string(),
});
export type AuditAccess = z.infer<typeof auditAccessSchema>;

export const auditPluginSchema = z.object({
  plugin: z.string(),
  version: z.string(),
  status: z.string(),
  place: z.string(),
  /** Its code runs with the user's rights. */
  has_code: z.boolean(),
  tools: z.array(z.object({ name: z.string(), permission: z.string(), program: z.boolean() })),
  secrets: z.array(z.string()),
});
export type AuditPlugin = z.infer<typeof auditPluginSchema>;

export const auditTrustSchema = z.object({
  kind: z.string(),
  name: z.string(),
  file: z.string(),
  what: z.string(),
  state: z.enum(["trusted", "untrusted", "changed"]),
  /** When, and by which user of the machine. Null if it was trusted before this was recorded, or never. */
  since: z.string().nullable(),
  by: z.string().nullable(),
});
export type AuditTrust = z.infer<typeof auditTrustSchema>;

export const auditLevels = ["high", "medium", "low"] as const;
export const auditFindingSchema = z.object({
  level: z.enum(auditLevels),
  subject: z.string(),
  finding: z.string(),
  /** The command or edit that fixes it. */
  fix: z.string(),
});
export type AuditFinding = z.infer<typeof auditFindingSchema>;

export const auditSchema = z.object({
  project: z.string(),
  user: z.string(),
  version: z.string(),
  /** What remains open, in sentences. */
  open: z.array(z.string()),
  /** The owner of the state, since when, and whether it was created elsewhere and then adopted. */
  state: z.object({ owner: z.string(), since: z.string().nullable(), adopted: z.boolean() }),
  agents: z.array(auditAgentSchema),
  gates: z.array(auditGateSchema),
  plugins: z.array(auditPluginSchema),
  /** Whose rights the tasks from agents receive: those of their producer, or those of the queue's own agent. */
  queues: z.array(
    z.object({
      queue: z.string(),
      agent: z.string(),
      rights: z.enum(["producer", "own"]),
      producers: z.array(z.string()),
    }),
  ),
  /** Everyone and everything besides the user that can give work to this project. */
  access: z.array(auditAccessSchema),
  network: z.object({
    bind: z.string(),
    url: z.string(),
    allowed_hosts: z.array(z.string()),
    models: z.array(z.object({ provider: z.string(), base_url: z.string().nullable(), key: z.string().nullable() })),
    plugin_registries: z.array(z.string()),
    skill_registry: z.string(),
    /** Outgoing webhooks; the address without its path, which may contain a secret. */
    webhooks: z.array(z.object({ name: z.string(), origin: z.string(), allow_private: z.boolean() })),
    /** The channels with people that the configuration has. */
    channels: z.array(z.string()),
  }),
  /** Names only. */
  secrets: z.array(z.object({ name: z.string(), used_by: z.array(z.string()) })),
  trust: z.object({
    file: z.string(),
    /** Everything in the project is trusted, including later changes. */
    always: z.boolean(),
    /** Plugins that are trusted including later changes. */
    dev: z.array(z.string()),
    items: z.array(auditTrustSchema),
  }),
  findings: z.array(auditFindingSchema),
});
export type Audit = z.infer<typeof auditSchema>;
