import { type MessageId, newId } from "@aegis/contract/ids.ts";
import { eventsOfType, turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { describe, expect, it } from "vitest";
import { page, simplePage } from "../../../skills/test/fixtures.ts";
import { type Scene, scene } from "../../../skills/test/scene.ts";

const files = {
  "skills/weather/SKILL.md": page(
    "name: weather\ndescription: Look up the weather\nmetadata: { conduit: { agent: meteo } }",
    "Ask the sky.",
  ),
  "skills/tea/SKILL.md": simplePage("tea", "Brew tea", "metadata: { aegis: { agent: default } }"),
  "skills/lost/SKILL.md": simplePage("lost", "Find what is lost", "metadata: { aegis: { agent: nobody } }"),
};
const agents = [
  { slug: "dev", ref: "dev" },
  { slug: "meteo", ref: "meteo" },
  { slug: "cook", ref: "cook", skills: ["tea"] },
];

async function open() {
  const it = await scene(files, { agents });
  const send = (body: string, id?: MessageId, session = it.session) =>
    it.inbox.admit({ id, session, sender: { kind: "human" }, body });
  return { ...it, send };
}

const agentOf = async ({ store }: Scene, session: string) => (await store.read.sessions.get(session as never))?.agent;

describe("a message about a skill of another agent", () => {
  it("goes to that agent, says so, and the next one goes to the same session", async () => {
    const it = await open();
    const first = await it.send("how is the weather?");
    expect(first.text).toBe(`landed at ${first.handle}: the skill "weather" is for the agent "meteo"`);
    expect(await agentOf(it, first.session)).toBe("meteo");
    await turnsEnded(it, 1);
    expect(it.driver.turns[0]?.prompt.text).toContain("Ask the sky.");
    const second = await it.send("/skill weather tomorrow");
    expect(second.session).toBe(first.session);
    const routed = await eventsOfType(it.store, "skill.routed");
    expect(routed.map(({ session, data }) => [session, data.skill, data.agent, data.to])).toEqual([
      [it.session, "weather", "meteo", first.session],
      [it.session, "weather", "meteo", first.session],
    ]);
  });

  it("goes there once, however often it is sent", async () => {
    const it = await open();
    const id = newId("msg", 1);
    const first = await it.send("weather?", id);
    expect(await it.send("weather?", id)).toMatchObject({ session: first.session, duplicate: true });
    expect(await eventsOfType(it.store, "skill.routed")).toHaveLength(1);
  });

  it("goes to a new session when the one before is closed", async () => {
    const it = await open();
    const first = await it.send("weather?");
    await turnsEnded(it, 1);
    await it.sessions.close(first.session, "done");
    const second = await it.send("weather?");
    expect(second.session).not.toBe(first.session);
    expect(await agentOf(it, second.session)).toBe("meteo");
  });

  it.each([
    ["the agent has it already", "weather?", "meteo"],
    ["it names no skill", "hello", "dev"],
    ["its agent is not there", "find what is lost", "dev"],
    ["it belongs to no agent", "brew tea", "dev"],
  ])("stays where it was sent when %s", async (_, text, agent) => {
    const it = await open();
    const { session } = await it.sessions.create({ agent });
    expect((await it.send(text, undefined, session.id)).session).toBe(session.id);
  });

  it("begins a session with that agent when none was asked for", async () => {
    const it = await open();
    const made = await it.sessions.create({ prompt: "weather?" });
    expect(made.session.agent).toBe("meteo");
    expect(made.receipt?.text).toContain('the skill "weather" is for the agent "meteo"');
    expect((await it.sessions.create({ prompt: "weather?", agent: "dev" })).session.agent).toBe("dev");
  });

  it("is refused at once when it calls what is not there, or not for this agent", async () => {
    const it = await open();
    await expect(it.send("/skill wether")).rejects.toThrow('there is no skill "wether" (did you mean "weather"?)');
    const { session } = await it.sessions.create({ agent: "cook" });
    await expect(it.send("/skill lost", undefined, session.id)).rejects.toThrow('"cook" may not use the skill "lost"');
  });

  it("of an agent stays where it was sent", async () => {
    const it = await open();
    const sender = { kind: "agent", session: it.session, handle: "some-one" } as const;
    expect((await it.inbox.admit({ session: it.session, sender, body: "weather?" })).session).toBe(it.session);
  });
});
