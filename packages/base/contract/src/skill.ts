/** A skill is a page of instructions for one kind of task. Agents load it when the task comes up. */
import { z } from "zod";

/**
 * The source of a skill, strongest first: `skills/`, `.agents/skills`, `.aegis/skills` and `.claude/skills` of the
 * project, the last three of the user, a plugin, Aegis itself, a folder named in the configuration.
 */
export const skillSourceSchema = z.enum([
  "project",
  "agents",
  "aegis",
  "claude",
  "user",
  "user-agents",
  "user-claude",
  "plugin",
  "bundled",
  "configured",
]);
export type SkillSource = z.infer<typeof skillSourceSchema>;

/** How the agent received a skill's text. `again`: after its conversation was compacted. */
export const skillHowSchema = z.enum(["named", "matched", "classified", "preloaded", "again", "loaded"]);
export type SkillHow = z.infer<typeof skillHowSchema>;

export const skillViewSchema = z.object({
  name: z.string(),
  description: z.string(),
  source: skillSourceSchema,
  plugin: z.string().nullable(),
  /** Null if a plugin defined it without a file. */
  file: z.string().nullable(),
  /** The command that calls it, without the slash. */
  command: z.string(),
  argument_hint: z.string().nullable(),
  /** False if a requirement is missing. */
  eligible: z.boolean(),
  /** Its missing requirements, each as text. */
  missing: z.array(z.string()),
  /** Optional requirements that would improve it. */
  notes: z.array(z.string()),
  /** False if only a person may call it. */
  model_invocable: z.boolean(),
  /** False if only agents may load it. */
  user_invocable: z.boolean(),
  /** The agent that receives messages about it. */
  agent: z.string().nullable(),
  /** `fork`: it runs in its own subagent. */
  context: z.enum(["inline", "fork"]),
  /** Tools that the agent may use without asking in the turn that uses the skill. */
  allowed_tools: z.array(z.string()),
});
export type SkillView = z.infer<typeof skillViewSchema>;

/** A problem of a skill, for its author or user. An error disables the skill, a warning does not. */
export const skillDiagnosticSchema = z.object({
  level: z.enum(["error", "warning"]),
  /** `repair quarantine collision cap containment unreadable field` */
  code: z.string(),
  skill: z.string().nullable(),
  file: z.string().nullable(),
  /** Counts from 1; null for the file as a whole. */
  line: z.int().nullable(),
  message: z.string(),
});
export type SkillDiagnostic = z.infer<typeof skillDiagnosticSchema>;

export const skillDetailSchema = skillViewSchema.extend({
  body: z.string(),
  /** The folder of its files; null if it has none. */
  folder: z.string().nullable(),
  /** Files beside its page, relative to the folder. */
  resources: z.array(z.string()),
  /** How many files are not listed. */
  resources_left_out: z.int(),
  homepage: z.string().nullable(),
  license: z.string().nullable(),
  /** Skills of the same name that this one takes precedence over. */
  hides: z.array(z.object({ source: skillSourceSchema, file: z.string().nullable() })),
  diagnostics: z.array(skillDiagnosticSchema),
});
export type SkillDetail = z.infer<typeof skillDetailSchema>;

export const skillHitSchema = z.object({ name: z.string(), description: z.string(), score: z.number() });
export type SkillHit = z.infer<typeof skillHitSchema>;

/** The size of the skill list that agents receive. */
export const catalogSizeSchema = z.object({
  skills: z.int(),
  characters: z.int(),
  /** The number of shortened descriptions, and of skills listed by name only or not at all. */
  shortened: z.int(),
  name_only: z.int(),
  left_out: z.int(),
});
export type CatalogSize = z.infer<typeof catalogSizeSchema>;
