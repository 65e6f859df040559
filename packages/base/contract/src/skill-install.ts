/** Third-party skills: their source, the findings of the scan, and the lockfile. */
import { z } from "zod";

/** The project's skills, or the user's skills for all projects. */
export const skillScopeSchema = z.enum(["project", "user"]);
export type SkillScope = z.infer<typeof skillScopeSchema>;

/**
 * `malicious` is refused unless a person overrides the rule by name, `suspicious` needs consent, a `note` is only
 * reported.
 */
export const findingSeveritySchema = z.enum(["malicious", "suspicious", "note"]);
export type FindingSeverity = z.infer<typeof findingSeveritySchema>;

export const skillFindingSchema = z.object({
  severity: findingSeveritySchema,
  /** For example `install.shell-pipe`. */
  rule: z.string(),
  /** Relative to the skill's folder; null for the skill as a whole. */
  file: z.string().nullable(),
  /** Counts from 1. */
  line: z.int().nullable(),
  message: z.string(),
  /** The text at that place, with invisible characters made visible. */
  excerpt: z.string(),
  /** Set if it occurs in a quoted example, a test or a reference, and no text instructs the reader to do it. */
  quoted: z.boolean().optional(),
});
export type SkillFinding = z.infer<typeof skillFindingSchema>;

/** One entry of the lockfile. */
export const installedSkillSchema = z.object({
  name: z.string(),
  /** The source that an update fetches again. */
  source: z.string(),
  version: z.string().nullable(),
  commit: z.string().nullable(),
  /** Covers all files as installed. */
  hash: z.string(),
  installed_at: z.string(),
  /** Malicious findings in exactly these files that a person overrode: `rule file:line`. */
  overridden: z.array(z.string()).optional(),
});
export type InstalledSkill = z.infer<typeof installedSkillSchema>;

export const installedSkillViewSchema = installedSkillSchema.extend({
  scope: skillScopeSchema,
  folder: z.string(),
  /** `edited`: the files differ from the installed ones; `missing`: they are gone. */
  state: z.enum(["intact", "edited", "missing"]),
});
export type InstalledSkillView = z.infer<typeof installedSkillViewSchema>;

/** A skill that was fetched and scanned, whether or not it is in use. */
export const fetchedSkillSchema = z.object({
  name: z.string(),
  description: z.string(),
  scope: skillScopeSchema,
  /** Its folder, or the folder it would have. */
  folder: z.string(),
  source: z.string(),
  version: z.string().nullable(),
  commit: z.string().nullable(),
  hash: z.string(),
  files: z.int(),
  bytes: z.int(),
  /** `malicious` only if a person overrode the finding. */
  verdict: z.enum(["clean", "suspicious", "malicious"]),
  findings: z.array(skillFindingSchema),
  /** The previously installed version. */
  replaces: z.object({ version: z.string().nullable(), commit: z.string().nullable(), hash: z.string() }).nullable(),
});
export type FetchedSkill = z.infer<typeof fetchedSkillSchema>;

/** The error data of a skill or a plugin that was refused as malicious. */
export const refusedPackageSchema = z.object({
  findings: z.array(skillFindingSchema),
  /** The rules that a person must name to install exactly this content anyway; null for an agent's request. */
  overridable: z.object({ rules: z.array(z.string()).min(1), hash: z.string() }).nullable(),
});
export type RefusedPackage = z.infer<typeof refusedPackageSchema>;

/** The rules of malicious findings that a person overrides. */
export const overrideSchema = z
  .array(z.string().min(1).max(100))
  .max(50)
  .default([])
  .describe("the rules of malicious findings, each named by a person who has read the lines that it found");

/** `consent`: nothing was changed. Repeat the request with the hash to accept the findings. */
export const installOutcomeSchema = z.object({
  outcome: z.enum(["installed", "updated", "unchanged", "consent"]),
  skill: fetchedSkillSchema,
});
export type InstallOutcome = z.infer<typeof installOutcomeSchema>;

export const registrySkillSchema = z.object({
  slug: z.string(),
  owner: z.string().nullable(),
  title: z.string(),
  summary: z.string(),
  version: z.string().nullable(),
});
export type RegistrySkill = z.infer<typeof registrySkillSchema>;

export const registryDetailSchema = registrySkillSchema.extend({
  registry: z.string(),
  updated_at: z.number().nullable(),
  os: z.array(z.string()),
  /** The registry's own objections. */
  moderation: z.object({
    verdict: z.enum(["clean", "suspicious", "malicious"]),
    reasons: z.array(z.string()),
  }),
});
export type RegistryDetail = z.infer<typeof registryDetailSchema>;
