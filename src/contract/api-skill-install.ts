/** The endpoints that install skills and search the registry. */
import { z } from "zod";
import { count, type Endpoint, flag, none } from "./api-parts.ts";
import {
  installedSkillViewSchema,
  installOutcomeSchema,
  registryDetailSchema,
  registrySkillSchema,
  skillScopeSchema,
} from "./skill-install.ts";

const skillPath = z.object({ skill: z.string().describe("an installed skill's name") });
const scope = skillScopeSchema.default("project");
const force = z.boolean().default(false);
const accept = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, "expected a hash as it was told: sha256:…")
  .optional()
  .describe("the hash of the files whose findings the user has accepted");

const override = z
  .string()
  .min(1)
  .max(200)
  .optional()
  .describe("with accept: the skill's name, typed by a person who has read its malicious findings, all of them quoted");

export const skillInstallEndpoints = {
  searchRegistry: {
    summary: "Search the registry for skills",
    path: none,
    query: z.object({ q: z.string().min(1).max(200), limit: count(100, 20) }),
    body: none,
    output: z.object({ registry: z.string(), skills: z.array(registrySkillSchema) }),
  },
  getRegistrySkill: {
    summary: "Get the registry's entry of one skill",
    path: none,
    query: z.object({ skill: z.string().min(1).max(200).describe("slug, or @owner/slug") }),
    body: none,
    output: z.object({ skill: registryDetailSchema }),
  },
  listInstalledSkills: {
    summary: "List installed skills, and whether their files are unchanged",
    path: none,
    query: none,
    body: none,
    output: z.object({ skills: z.array(installedSkillViewSchema) }),
  },
  installSkill: {
    summary: "Fetch, scan and install a skill",
    path: none,
    query: none,
    body: z.object({
      source: z.string().min(1).max(2000).describe("a skill of the registry, gh:owner/repo, git+URL, URL or path"),
      name: z.string().min(1).max(200).optional().describe("which skill, if the source contains several"),
      scope,
      force: force.describe("also replace a skill of another source, or an edited skill"),
      accept,
      override,
    }),
    output: installOutcomeSchema,
  },
  updateSkill: {
    summary: "Update an installed skill from its source",
    path: skillPath,
    query: none,
    body: z.object({ scope, force: force.describe("also replace edited files"), accept, override }),
    output: installOutcomeSchema,
  },
  removeSkill: {
    summary: "Remove an installed skill",
    path: skillPath,
    query: z.object({ scope, force: flag.describe("also if it was edited") }),
    body: none,
    output: z.object({ removed: installedSkillViewSchema }),
  },
} satisfies Record<string, Endpoint>;
