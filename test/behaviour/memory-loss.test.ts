/** What a session was given counts as gone when its harness did not restore the conversation, regardless of its claims. */
import { expect, it } from "vitest";
import { testProject } from "../helpers/project.ts";
import { acp, homeOf } from "../helpers/projects/harnesses.ts";
import { createSession, eventsOf, talk } from "../helpers/talk.ts";

it.each([
  ["refuses to load", acp("--stale"), 2],
  ["loads", acp(), 1],
] as const)("a skill's text goes to an agent that %s after a restart", async (_, harness, times) => {
  const project = await testProject({
    ".aegis.yaml": `default_agent: dev\nagents: ${JSON.stringify({ dev: harness.agent })}\n`,
    ".aegis/skills/tea.md": "---\nname: tea\ndescription: Brew a pot of tea\n---\n\nWarm the pot.\n",
  });
  const first = await project.start();
  const { id } = await createSession(first.client);
  await talk(first.client, id, "do:echo brew some tea");
  await first.kill();
  const { client } = await project.start();
  await talk(client, id, "do:echo brew some more tea");
  await talk(client, id, "do:echo brew even more tea");
  const prompts = await harness.prompts(homeOf(project));
  expect(prompts.filter((text) => text.includes("Warm the pot."))).toHaveLength(times);
  expect(await eventsOf(client, "session.memory_lost", id)).toHaveLength(times - 1);
});
