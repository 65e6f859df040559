/** A skill is a page of instructions for a particular task, given to an agent when the task comes up. */
import { z } from "zod";

/**
 * Where a skill comes from, the strongest first: `skills/`, `.agents/skills`, `.aegis/skills` and `.claude/skills` of the
 * project, the same three of the user, a plugin, Aegis itself, a folder named in the configuration.
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

/** How a skill's text came to an agent. `again`: after its conversation had been summed up. */
export const skillHowSchema = z.enum(["named", "matched", "classified", "preloaded", "again", "loaded"]);
export type SkillHow = z.infer<typeof skillHowSchema>;

export const skillViewSchema = z.object({
  name: z.string(),
  description: z.string(),
  source: skillSourceSchema,
  plugin: z.string().nullable(),
  /** Null for one that a plugin made without a file. */
  file: z.string().nullable(),
  /** What follows the slash in a message that calls it. */
  command: z.string(),
  argument_hint: z.string().nullable(),
  /** False when something it needs is not here. */
  eligible: z.boolean(),
  /** What it needs and what is not here, each in words. */
  missing: z.array(z.string()),
  /** What would make it work better. */
  notes: z.array(z.string()),
  /** False when only a person may call it. */
  model_invocable: z.boolean(),
  /** False when only agents may load it. */
  user_invocable: z.boolean(),
  /** The agent that messages about it go to. */
  agent: z.string().nullable(),
  /** `fork`: it runs in a subagent of its own. */
  context: z.enum(["inline", "fork"]),
  /** What an agent may use without asking in the turn the skill is used in. */
  allowed_tools: z.array(z.string()),
});
export type SkillView = z.infer<typeof skillViewSchema>;

/** Something about a skill that its author or user should know. An error keeps it from being used, a warning does not. */
export const skillDiagnosticSchema = z.object({
  level: z.enum(["error", "warning"]),
  /** `repair quarantine collision cap containment unreadable field` */
  code: z.string(),
  skill: z.string().nullable(),
  file: z.string().nullable(),
  /** Counts from 1; null for the file as a whole. */
  line: z.number().int().nullable(),
  message: z.string(),
});
export type SkillDiagnostic = z.infer<typeof skillDiagnosticSchema>;

export const skillDetailSchema = skillViewSchema.extend({
  body: z.string(),
  /** Where its files are; null for one without a folder. */
  folder: z.string().nullable(),
  /** Files beside its page, relative to the folder. */
  resources: z.array(z.string()),
  /** How many more there are than are listed. */
  resources_left_out: z.number().int(),
  homepage: z.string().nullable(),
  license: z.string().nullable(),
  /** Skills of the same name that this one stands in front of. */
  hides: z.array(z.object({ source: skillSourceSchema, file: z.string().nullable() })),
  diagnostics: z.array(skillDiagnosticSchema),
});
export type SkillDetail = z.infer<typeof skillDetailSchema>;

export const skillHitSchema = z.object({ name: z.string(), description: z.string(), score: z.number() });
export type SkillHit = z.infer<typeof skillHitSchema>;

/** What agents are told of the skills there are, in figures. */
export const catalogSizeSchema = z.object({
  skills: z.number().int(),
  characters: z.number().int(),
  /** Descriptions that were cut, and skills that are there by name only or not even that. */
  shortened: z.number().int(),
  name_only: z.number().int(),
  left_out: z.number().int(),
});
export type CatalogSize = z.infer<typeof catalogSizeSchema>;
