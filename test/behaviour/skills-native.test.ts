/** Skills with native agents of the built package, whose model is a fake one on loopback. */
import { expect, it } from "vitest";
import { nativeConfig } from "../helpers/fake-models/config.ts";
import { openaiChatWire } from "../helpers/fake-models/openai-chat.ts";
import { type FakeModels, type FakeRequest, fakeModels } from "../helpers/fake-models/server.ts";
import type { Reply } from "../helpers/fake-models/wire.ts";
import { type Daemon, testProject } from "../helpers/project.ts";
import { createSession, eventsOf, talk } from "../helpers/talk.ts";

const page = (name: string, description: string, body: string) =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}\n`;

/** Loads what it is told to load; as a classifier it always wants the cake. */
function answer({ transcript, body }: FakeRequest): Reply {
  const last = transcript.at(-1) ?? "";
  if (JSON.stringify(body).includes("You choose which skills")) return { text: '["cake"]' };
  if (last.startsWith("result:")) return { text: `read ${last.slice(0, 200)}` };
  const name = /load (\S+)/.exec(last)?.[1];
  return name === undefined ? { text: "fine" } : { calls: [{ id: "call-1", name: "load_skill", input: { name } }] };
}

async function start(skills: string): Promise<{ daemon: Daemon; models: FakeModels }> {
  const models = await fakeModels(openaiChatWire, answer);
  const project = await testProject({
    ".aegis.yaml": nativeConfig(models, { permission: "write", more: skills }),
    ".aegis/skills/tea.md": page("tea", "Brew a pot of tea", "Warm the pot."),
    "skills/cake/SKILL.md": page("cake", "Bake a cake", "Heat the oven."),
  });
  return { daemon: await project.start(), models };
}

it("tells the model of all skills, gives it what it loads and what a message is about", async () => {
  const { daemon, models } = await start("");
  const { id } = await createSession(daemon.client);
  expect(await talk(daemon.client, id, "load tea")).toContain("Warm the pot.");
  const [first] = models.requests;
  expect(JSON.stringify(first?.body)).toContain("- cake: Bake a cake\\n- tea: Brew a pot of tea");
  expect(first?.tools).toContain("load_skill");
  await talk(daemon.client, id, "now a cake");
  expect(JSON.stringify(models.requests.at(-1)?.body)).toContain("Heat the oven.");
});

it("has the classifier choose where one is configured, and words where it fails", { tags: "slow" }, async () => {
  const { daemon, models } = await start("skills: { classifier: fake/small }\n");
  const { client } = daemon;
  const { id } = await createSession(client);
  await talk(client, id, "something sweet");
  expect(JSON.stringify(models.requests.at(-1)?.body)).toContain("Heat the oven.");
  const broken = await start("skills: { classifier: nobody/small }\n");
  const session = await createSession(broken.daemon.client);
  await talk(broken.daemon.client, session.id, "brew tea");
  const how = async (of: Daemon) =>
    (await eventsOf(of.client, "skill.given")).flatMap(({ data }) =>
      data.skills.map((one) => `${one.name} ${one.how}`),
    );
  expect(await how(daemon)).toEqual(["cake classified"]);
  expect(await how(broken.daemon)).toEqual(["tea matched"]);
});

it("shows the model of a project with a thousand skills the candidates for each message, and no text for a plain one", {
  tags: "slow",
}, async () => {
  const models = await fakeModels(openaiChatWire, answer);
  const fillers = Array.from({ length: 1_000 }, (_, n): [string, string] => {
    const text = `Handles the paperwork of district ${n} with forms, stamps and ${"duties ".repeat(20)}`;
    return [`.aegis/skills/filler-${n}.md`, page(`filler-${n}`, text, "Fill in the form.")];
  });
  const project = await testProject({
    ".aegis.yaml": nativeConfig(models, { permission: "write" }),
    ...Object.fromEntries(fillers),
    "skills/kayak/SKILL.md": page("kayak", "Plan kayak tours on rivers and check the water level", "Carry a rope."),
    "skills/mites/SKILL.md": page(
      "mites",
      "Care for bee hives through the year: feed them in autumn, harvest honey, catch swarms, and fight mites",
      "Use acid.",
    ),
  });
  const { client } = await project.start();
  const { id } = await createSession(client);
  const request = () => JSON.stringify(models.requests.at(-1)?.body);

  await talk(client, id, "how high is the water today?");
  const first = request();
  expect(first).toContain("- kayak: Plan kayak tours on rivers and check the water level");
  expect(first).not.toContain("fight mites");
  expect(first).toContain("`search_skills` finds the others");
  expect(first).not.toContain("Carry a rope.");

  await talk(client, id, "is there something against varroa on my bees?");
  expect(request()).toContain("- mites: Care for bee hives through the year");
  await talk(client, id, "move the stamps to the other side of the form");
  expect(request()).not.toMatch(/Fill in the form\.|Use acid\.|Carry a rope\./);
  await talk(client, id, "plan a kayak tour on two rivers");
  expect(request()).toContain("Carry a rope.");
  expect(await talk(client, id, "load mites")).toContain("Use acid.");
  const given = (await eventsOf(client, "skill.given")).flatMap(({ data }) => data.skills.map(({ name }) => name));
  expect(given).toEqual(["kayak", "mites"]);
});
