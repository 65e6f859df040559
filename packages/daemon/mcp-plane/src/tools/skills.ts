/** Tools that find and load skills. */

import { type AgentTool, defineTool } from "@aegis/sessions/tools/tools.ts";
import type { Turns } from "@aegis/sessions/turns.ts";
import { renderBody } from "@aegis/skills/body.ts";
import type { SkillDelivery } from "@aegis/skills/delivery.ts";
import type { Skills } from "@aegis/skills/skills.ts";
import { z } from "zod";
import { causeOf } from "./caller.ts";

export type SkillToolsOptions = { skills: Skills; offer: SkillDelivery; turns: Turns };

export function skillTools(options: SkillToolsOptions): AgentTool[] {
  return [load(options), search(options)];
}

function load({ offer, turns }: SkillToolsOptions): AgentTool {
  return defineTool({
    name: "load_skill",
    description:
      "Load a skill: its instructions, folder and files. Load a skill before you start a task that it covers.",
    input: z.object({
      name: z.string().min(1).max(200).describe("a name from your list of skills or from search_skills"),
      arguments: z.string().max(20_000).optional().describe("the input of the skill"),
    }),
    // A skill with its own context starts a subagent.
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

function search({ skills }: SkillToolsOptions): AgentTool {
  return defineTool({
    name: "search_skills",
    description: "Search skills by words, best match first. Use it if your list of skills has no match.",
    input: z.object({
      query: z.string().min(1).max(1_000),
      limit: z.int().min(1).max(50).default(10),
    }),
    readOnly: true,
    async run({ query, limit }, { agent, signal }) {
      const found = await skills.search(query, agent, limit, signal);
      // An object, because some harnesses cannot read a list as a result.
      return { skills: found.map(({ name, description }) => ({ name, description })) };
    },
  });
}
