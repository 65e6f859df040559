/** The endpoints of skills. */
import { z } from "zod";
import { count, type Endpoint, flag, none, storableText } from "./api-parts.ts";
import {
  catalogSizeSchema,
  skillDetailSchema,
  skillDiagnosticSchema,
  skillHitSchema,
  skillViewSchema,
} from "./skill.ts";

const agent = z.string().optional().describe("only skills that this agent may use");

export const skillEndpoints = {
  listSkills: {
    summary: "List the skills offered to agents, and the problems of the others",
    path: none,
    query: z.object({ agent, all: flag.describe("also include skills that cannot be used") }),
    body: none,
    output: z.object({
      skills: z.array(skillViewSchema),
      diagnostics: z.array(skillDiagnosticSchema),
      catalog: catalogSizeSchema,
    }),
  },
  searchSkills: {
    summary: "Search skills by words, best match first",
    path: none,
    query: z.object({ query: storableText.min(1).max(1000), agent, limit: count(50, 10) }),
    body: none,
    output: z.object({ skills: z.array(skillHitSchema) }),
  },
  getSkill: {
    summary: "Get one skill with its text and files",
    path: z.object({ skill: z.string().describe("a skill's name, or plugin:name") }),
    query: none,
    body: none,
    output: z.object({ skill: skillDetailSchema }),
  },
} satisfies Record<string, Endpoint>;
