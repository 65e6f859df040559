/** The endpoints that install skills and look for them in the registry. */
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
  .describe("the hash whose findings somebody has seen and accepted");

export const skillInstallEndpoints = {
  searchRegistry: {
    summary: "Look for skills in the registry",
    path: none,
    query: z.object({ q: z.string().min(1).max(200), limit: count(100, 20) }),
    body: none,
    output: z.object({ registry: z.string(), skills: z.array(registrySkillSchema) }),
  },
  getRegistrySkill: {
    summary: "What the registry says about one skill",
    path: none,
    query: z.object({ skill: z.string().min(1).max(200).describe("slug, or @owner/slug") }),
    body: none,
    output: z.object({ skill: registryDetailSchema }),
  },
  listInstalledSkills: {
    summary: "Skills that were installed, and whether they are as they were",
    path: none,
    query: none,
    body: none,
    output: z.object({ skills: z.array(installedSkillViewSchema) }),
  },
  installSkill: {
    summary: "Fetch a skill, look it through and put it in place",
    path: none,
    query: none,
    body: z.object({
      source: z.string().min(1).max(2000).describe("a skill of the registry, gh:owner/repo, git+URL, URL or path"),
      name: z.string().min(1).max(200).optional().describe("which one, when the source holds several"),
      scope,
      force: force.describe("also over a skill of another source, or one that was edited"),
      accept,
    }),
    output: installOutcomeSchema,
  },
  updateSkill: {
    summary: "Fetch an installed skill again from where it came",
    path: skillPath,
    query: none,
    body: z.object({ scope, force: force.describe("also over edits"), accept }),
    output: installOutcomeSchema,
  },
  removeSkill: {
    summary: "Remove an installed skill",
    path: skillPath,
    query: z.object({ scope, force: flag.describe("also when it was edited") }),
    body: none,
    output: z.object({ removed: installedSkillViewSchema }),
  },
} satisfies Record<string, Endpoint>;
