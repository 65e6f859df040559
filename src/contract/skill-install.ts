/** Skills from elsewhere: where they come from, what was found in them, what is written down about them. */
import { z } from "zod";

/** Whose skills: those of the project, or those of the user in all projects. */
export const skillScopeSchema = z.enum(["project", "user"]);
export type SkillScope = z.infer<typeof skillScopeSchema>;

/** `malicious` is refused, `suspicious` needs somebody's consent, a `note` is only told. */
export const findingSeveritySchema = z.enum(["malicious", "suspicious", "note"]);
export type FindingSeverity = z.infer<typeof findingSeveritySchema>;

export const skillFindingSchema = z.object({
  severity: findingSeveritySchema,
  /** As in `install.shell-pipe`. */
  rule: z.string(),
  /** Relative to the skill's folder; null for the skill as a whole. */
  file: z.string().nullable(),
  /** Counts from 1. */
  line: z.number().int().nullable(),
  message: z.string(),
  /** What stands there, with everything made visible. */
  excerpt: z.string(),
});
export type SkillFinding = z.infer<typeof skillFindingSchema>;

/** One entry of the lockfile. */
export const installedSkillSchema = z.object({
  name: z.string(),
  /** What an update asks again. */
  source: z.string(),
  version: z.string().nullable(),
  commit: z.string().nullable(),
  /** Over all files as they were installed. */
  hash: z.string(),
  installed_at: z.string(),
});
export type InstalledSkill = z.infer<typeof installedSkillSchema>;

export const installedSkillViewSchema = installedSkillSchema.extend({
  scope: skillScopeSchema,
  folder: z.string(),
  /** `edited`: the files are not those that were installed; `missing`: they are gone. */
  state: z.enum(["intact", "edited", "missing"]),
});
export type InstalledSkillView = z.infer<typeof installedSkillViewSchema>;

/** A skill that was fetched and looked through, whether or not it is in use by now. */
export const fetchedSkillSchema = z.object({
  name: z.string(),
  description: z.string(),
  scope: skillScopeSchema,
  /** Where it is, or would be. */
  folder: z.string(),
  source: z.string(),
  version: z.string().nullable(),
  commit: z.string().nullable(),
  hash: z.string(),
  files: z.number().int(),
  bytes: z.number().int(),
  verdict: z.enum(["clean", "suspicious"]),
  findings: z.array(skillFindingSchema),
  /** The version that was there before. */
  replaces: z.object({ version: z.string().nullable(), commit: z.string().nullable(), hash: z.string() }).nullable(),
});
export type FetchedSkill = z.infer<typeof fetchedSkillSchema>;

/** `consent`: nothing was changed; ask again and name the hash to accept what was found. */
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
  /** What the registry itself holds against it. */
  moderation: z.object({
    verdict: z.enum(["clean", "suspicious", "malicious"]),
    reasons: z.array(z.string()),
  }),
});
export type RegistryDetail = z.infer<typeof registryDetailSchema>;
