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

const agent = z.string().optional().describe("only what this agent may use");

export const skillEndpoints = {
  listSkills: {
    summary: "The skills agents are offered, and what is wrong with the others",
    path: none,
    query: z.object({ agent, all: flag.describe("also those that something keeps from being used") }),
    body: none,
    output: z.object({
      skills: z.array(skillViewSchema),
      diagnostics: z.array(skillDiagnosticSchema),
      catalog: catalogSizeSchema,
    }),
  },
  searchSkills: {
    summary: "Skills that fit some words, the best first",
    path: none,
    query: z.object({ query: storableText.min(1).max(1000), agent, limit: count(50, 10) }),
    body: none,
    output: z.object({ skills: z.array(skillHitSchema) }),
  },
  getSkill: {
    summary: "One skill with its text and files",
    path: z.object({ skill: z.string().describe("a skill's name, or plugin:name") }),
    query: none,
    body: none,
    output: z.object({ skill: skillDetailSchema }),
  },
} satisfies Record<string, Endpoint>;
