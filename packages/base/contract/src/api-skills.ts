/** The endpoints of skills, of their installation and of the registry. */
import { z } from "zod";
import { count, endpoint, flag, storableText } from "./api-parts.ts";
import {
  catalogSizeSchema,
  skillDetailSchema,
  skillDiagnosticSchema,
  skillHitSchema,
  skillViewSchema,
} from "./skill.ts";
import {
  installedSkillViewSchema,
  installOutcomeSchema,
  overrideSchema,
  registryDetailSchema,
  registrySkillSchema,
  skillScopeSchema,
} from "./skill-install.ts";

const agent = z.string().optional().describe("only skills that this agent may use");
const skillPath = z.object({ skill: z.string().describe("an installed skill's name") });
const scope = skillScopeSchema.default("project");
const force = z.boolean().default(false);
const accept = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, "expected a hash as reported: sha256:…")
  .optional()
  .describe("the hash of the files whose findings the user has accepted");

export const skillEndpoints = {
  listSkills: endpoint("List the skills offered to agents, and the problems of the others", {
    query: z.object({ agent, all: flag.describe("also include skills that cannot be used") }),
    output: z.object({
      skills: z.array(skillViewSchema),
      diagnostics: z.array(skillDiagnosticSchema),
      catalog: catalogSizeSchema,
    }),
  }),
  searchSkills: endpoint("Search skills by words, best match first", {
    query: z.object({ query: storableText.min(1).max(1000), agent, limit: count(50, 10) }),
    output: z.object({ skills: z.array(skillHitSchema) }),
  }),
  getSkill: endpoint("Get one skill with its text and files", {
    path: z.object({ skill: z.string().describe("a skill's name, or plugin:name") }),
    output: z.object({ skill: skillDetailSchema }),
  }),
  searchRegistry: endpoint("Search the registry for skills", {
    query: z.object({ q: z.string().min(1).max(200), limit: count(100, 20) }),
    output: z.object({ registry: z.string(), skills: z.array(registrySkillSchema) }),
  }),
  getRegistrySkill: endpoint("Get the registry's entry of one skill", {
    query: z.object({ skill: z.string().min(1).max(200).describe("slug, or @owner/slug") }),
    output: z.object({ skill: registryDetailSchema }),
  }),
  listInstalledSkills: endpoint("List installed skills, and whether their files are unchanged", {
    output: z.object({ skills: z.array(installedSkillViewSchema) }),
  }),
  installSkill: endpoint("Fetch, scan and install a skill", {
    body: z.object({
      source: z.string().min(1).max(2000).describe("a skill of the registry, gh:owner/repo, git+URL, URL or path"),
      name: z.string().min(1).max(200).optional().describe("which skill, if the source contains several"),
      scope,
      force: force.describe("also replace a skill of another source, or an edited skill"),
      accept,
      override: overrideSchema,
    }),
    output: installOutcomeSchema,
  }),
  updateSkill: endpoint("Update an installed skill from its source", {
    path: skillPath,
    body: z.object({ scope, force: force.describe("also replace edited files"), accept, override: overrideSchema }),
    output: installOutcomeSchema,
  }),
  removeSkill: endpoint("Remove an installed skill", {
    path: skillPath,
    query: z.object({ scope, force: flag.describe("also if it was edited") }),
    output: z.object({ removed: installedSkillViewSchema }),
  }),
};
