/** Tools to find skills and to load one. */
import { z } from "zod";
import { defineTool, type Tool } from "../../runtime/registry/tools.ts";
import type { Turns } from "../../runtime/sessions/turns.ts";
import { renderBody } from "../../runtime/skills/body.ts";
import type { SkillOffer } from "../../runtime/skills/offer.ts";
import type { Skills } from "../../runtime/skills/skills.ts";
import { causeOf } from "./caller.ts";

export type SkillToolsOptions = { skills: Skills; offer: SkillOffer; turns: Turns };

export function skillTools(options: SkillToolsOptions): Tool[] {
  return [load(options), search(options)];
}

function load({ offer, turns }: SkillToolsOptions): Tool {
  return defineTool({
    name: "load_skill",
    description: "The instructions of a skill, its folder and files. Load one before you do what it is for.",
    input: z.object({
      name: z.string().min(1).max(200).describe("as listed, or as search_skills names it"),
      arguments: z.string().max(20_000).optional().describe("what the skill is to work on"),
    }),
    // A skill with a context of its own starts a subagent.
    readOnly: false,
    async run(input, context) {
      const { caller, agent, key, signal } = context;
      const { name } = input;
      const request = { name, arguments: input.arguments ?? null, session: caller, agent, key };
      const { skill, body, forked } = await offer.load({ ...request, cause: causeOf(context, turns) }, signal);
      if (forked === null) return renderBody(skill, body);
      return `Spawned: ${forked.run_id} (agent: ${forked.agent}, label: ${forked.label}). The skill "${skill.name}" runs there; its result will come to you by itself.`;
    },
  });
}

function search({ skills }: SkillToolsOptions): Tool {
  return defineTool({
    name: "search_skills",
    description: "Skills that fit some words, the best first. For what your list of skills does not describe.",
    input: z.object({
      query: z.string().min(1).max(1_000),
      limit: z.int().min(1).max(50).default(10),
    }),
    readOnly: true,
    async run({ query, limit }, { agent, signal }) {
      const found = await skills.search(query, agent, limit, signal);
      // Not a bare list: some harnesses cannot read an answer that is one.
      return { skills: found.map(({ name, description }) => ({ name, description })) };
    },
  });
}
