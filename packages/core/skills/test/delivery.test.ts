import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DriverEvent } from "@aegis/drivers/driver.ts";
import { parsePluginSkill } from "@aegis/plugins/plugin-skill.ts";
import { completed, eventsOfType, said, turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { describe, expect, it } from "vitest";
import { page, simplePage, writeTree } from "./fixtures.ts";
import { accepted, namesIn, plainly, scene } from "./scene.ts";

const weather = page("name: weather\ndescription: Look up weather conditions", "Call the oracle at {baseDir}.");
const files = { "skills/weather/SKILL.md": weather, "skills/tea/SKILL.md": simplePage("tea", "Brew a pot of tea") };

describe("at the start of a conversation", () => {
  it("an agent is told of every skill and how to load one", async () => {
    const { say, driver } = await scene(files);
    await say("hello");
    const { systemPrompt } = driver.turns[0]?.spec ?? {};
    expect(systemPrompt).toContain("- tea: Brew a pot of tea\n- weather: Look up weather conditions");
    expect(systemPrompt).toContain("`load_skill`");
    expect(driver.turns[0]?.prompt.text).toBe("hello");
  });

  it("the list stands where the agent's prompt has a place for it", async () => {
    const prompt = "Begin.\n{skills_context}\nMiddle.\n{tools_context}\nEnd.";
    const { say, driver } = await scene(files, { agents: [{ prompt }] });
    await say("hello");
    const text = driver.turns[0]?.spec.systemPrompt ?? "";
    expect(text).toMatch(
      /^Begin\.\n# Skills[\s\S]*- weather: [\s\S]*\nMiddle\.\nYour `aegis` MCP tools[\s\S]*\nEnd\.\n\nYou are/,
    );
    expect(text.match(/# Skills/g)).toHaveLength(1);
    expect(text.match(/aegis_meta/g)).toHaveLength(1);
  });

  it("an agent hears of what it may use only, and of nothing where skills are off", async () => {
    const { say, driver } = await scene(files, { agents: [{ skills: ["tea"], source: "config" }] });
    await say("weather please");
    expect(driver.turns[0]?.spec.systemPrompt).not.toContain("- weather");
    expect(driver.turns[0]?.prompt.text).toBe("weather please");
    const off = await scene({ ...files, ".aegis.yaml": "skills: { enabled: false }\n" });
    expect(await off.say("weather please")).toBe("weather please");
    expect(off.driver.turns[0]?.spec.systemPrompt).not.toContain("# Skills");
    expect(off.tools.all().map((tool) => tool.name)).not.toContain("load_skill");
  });

  it("skills that an agent's file names are given in full", async () => {
    const { given } = await scene(files, { agents: [{ skills: ["tea"], source: "project", file: "/x.md" }] });
    expect(await given("hello")).toEqual(["tea"]);
    expect(await given("hello again")).toEqual([]);
  });

  it("says nothing while a plugin offers the skills, but what is called by name is given", async () => {
    const { say, given, driver, skills, dir } = await scene(files);
    const undo = skills.skills.takeOver("skill-system");
    expect(await say("weather please")).toBe("weather please");
    expect(await given("/tea for two")).toEqual(["tea"]);
    writeTree(dir, { "skills/cake/SKILL.md": simplePage("cake") });
    expect(await say("hello")).toBe("hello");
    expect(driver.turns[0]?.spec.systemPrompt).not.toContain("# Skills");
    expect(() => skills.skills.takeOver("other")).toThrow("skill-system does already");
    undo();
    expect(namesIn(await say("weather please"))).toEqual(["weather"]);
  });
});

describe("with a thousand skills", () => {
  /** One of them is about each of these; the others are fillers. */
  const about = {
    kayak: "Plan kayak tours on rivers and check the water level",
    violin: "Practise the violin with scales, bowing and vibrato, and choose pieces that suit the level of the player",
    "hive-care":
      "Care for bee hives through the year: feed them in autumn, harvest honey, catch swarms, and fight mites",
  };
  const fillers = Array.from({ length: 1_000 }, (_, n) => [
    `skills/filler-${n}/SKILL.md`,
    simplePage(
      `filler-${n}`,
      `Handles the paperwork of district ${n} with all forms, stamps and ${"duties ".repeat(20)}`,
    ),
  ]);
  const thousand = {
    ...Object.fromEntries(fillers),
    ...Object.fromEntries(
      Object.entries(about).map(([name, text]) => [`skills/${name}/SKILL.md`, simplePage(name, text)]),
    ),
  };

  it("the list has the candidates for the message, and a later message has its own, once", async () => {
    const { say, driver, dir } = await scene(thousand);
    const first = await say("how high is the water today?");
    const { systemPrompt = "" } = driver.turns[0]?.spec ?? {};
    expect(systemPrompt).toContain(`- kayak: ${about.kayak}`);
    expect(systemPrompt).not.toContain(`- violin: ${about.violin}`);
    expect(systemPrompt).toMatch(/\d+ more are not listed\. If none above fits, `search_skills` finds the others/);
    expect(systemPrompt.length).toBeLessThan(16_000 * 1.25 + 4_000);
    // Everything that is known is in the list.
    expect(first).toBe("how high is the water today?");

    const second = await say("what can I do against mites?");
    expect(second).toContain("Skills that may be about this message. Load one with `load_skill` if it fits");
    expect(second).toContain(`- hive-care: ${about["hive-care"]}`);
    expect(namesIn(second)).toEqual([]);
    expect(await say("and against mites in winter?")).toBe("and against mites in winter?");

    writeTree(dir, {
      "skills/mushrooms/SKILL.md": simplePage("mushrooms", "Tell edible mushrooms from poisonous ones"),
    });
    expect(await say("hello")).toContain("- mushrooms: Tell edible");
    expect(driver.turns.at(-1)?.spec.systemPrompt).toBe(systemPrompt);
  });

  it("a plain request gets no text, and one that is certainly about a skill does", async () => {
    const { given } = await scene(thousand);
    expect(await given("move the stamps to the other side of the form")).toEqual([]);
    expect(await given("does the river have duties?")).toEqual([]);
    expect(await given("plan a kayak tour on two rivers")).toEqual(["kayak"]);
  });
});

describe("a turn", () => {
  it("begins with the text of the skills it is about, once, and again when they changed", async () => {
    const { say, given, dir, store, session } = await scene(files);
    const first = await say("how is the weather?");
    expect(first).toBe(
      [
        "<aegis_skills>",
        '<skill name="weather">',
        `Call the oracle at ${dir}/skills/weather.`,
        "</skill>",
        `Its folder, from which its paths count: ${dir}/skills/weather`,
        "</aegis_skills>",
        "",
        "how is the weather?",
      ].join("\n"),
    );
    expect(await given("and the weather tomorrow?")).toEqual([]);
    writeTree(dir, { "skills/weather/SKILL.md": `${weather}More.` });
    expect(await given("weather again")).toEqual(["weather"]);
    expect(
      (await eventsOfType(store, "skill.given")).map((event) => [event.session, event.data.skills[0]?.how]),
    ).toEqual([
      [session, "matched"],
      [session, "matched"],
    ]);
  });

  it("has at most so many, and those that are named besides", async () => {
    const many = Object.fromEntries(
      ["alpha", "beta", "gamma", "delta"].map((name) => [`skills/${name}/SKILL.md`, simplePage(name)]),
    );
    const { given } = await scene(many);
    expect(await given("alpha beta gamma $delta")).toHaveLength(3);
  });

  it("has what a person calls by name, with arguments", async () => {
    const { say, given } = await scene({
      ...files,
      "skills/greet/SKILL.md": page("name: greet\ndescription: x\ndisable-model-invocation: true", "Greet $ARGUMENTS."),
    });
    expect(await say("/skill greet the queen")).toContain("Greet the queen.");
    expect(await say("/greet the king")).toContain("Greet the king.");
    expect(await given("now $tea please")).toEqual(["tea"]);
    await expect(say("/skill wether")).rejects.toThrow('there is no skill "wether" (did you mean "weather"?)');
  });

  it("leaves commands of the harness alone", async () => {
    const { say, dir } = await scene(files);
    await say("hello");
    writeTree(dir, { "skills/cake/SKILL.md": simplePage("cake") });
    expect(await say("/compact the weather talk")).toBe("/compact the weather talk");
    expect(await say("hello")).toContain("- cake: About cake");
  });

  it("does not take the word of a notice for a request", async () => {
    const { inbox, session, driver, ...runtime } = await scene(files);
    await inbox.admit({ session, sender: { kind: "substrate" }, body: "weather weather" });
    await turnsEnded({ ...runtime, inbox, driver }, 1);
    expect(namesIn(driver.turns[0]?.prompt.text ?? "")).toEqual([]);
  });

  it("keeps from agents what only people may call", async () => {
    const { inbox, session, driver, ...runtime } = await scene({
      "skills/x/SKILL.md": simplePage("launch", "Launch rockets", "disable-model-invocation: true"),
    });
    const sender = { kind: "agent", session, handle: "other-one" } as const;
    await inbox.admit({ session, sender, body: "$launch rockets" });
    await turnsEnded({ ...runtime, inbox, driver }, 1);
    expect(namesIn(driver.turns[0]?.prompt.text ?? "")).toEqual([]);
    expect(driver.turns[0]?.spec.systemPrompt).not.toContain("launch");
  });

  it("tells of skills that came and went since", async () => {
    const { say, dir } = await scene(files);
    await say("hello");
    writeTree(dir, { ".agents/skills/new/SKILL.md": simplePage("cake", "Bake a cake") });
    rmSync(join(dir, "skills/tea"), { recursive: true });
    const text = await say("hello again");
    expect(text).toContain("New:\n- cake: Bake a cake\nRemoved: tea");
    expect(await say("hello once more")).toBe("hello once more");
  });

  it("goes on without skills when they cannot be read", async () => {
    const { say, dir } = await scene(files);
    rmSync(join(dir, "skills"), { recursive: true });
    writeFileSync(join(dir, "skills"), "a file");
    expect(await say("weather please")).toBe("weather please");
  });
});

describe("what an agent has in mind", () => {
  it("is given again after its conversation was summed up, and the news with it", async () => {
    const compaction: DriverEvent = { type: "compaction", summary: "short" };
    const { say, given, dir } = await scene(files, {
      async *reply({ prompt }) {
        yield accepted;
        if (prompt.text.includes("sum up")) yield compaction;
        yield said("ok");
        yield completed;
      },
    });
    expect(await given("weather?")).toEqual(["weather"]);
    writeTree(dir, { "skills/cake/SKILL.md": simplePage("cake") });
    expect(await say("anything new?")).toContain("- cake: About cake");
    await say("sum up");
    const next = await say("go on");
    expect(namesIn(next)).toEqual(["weather"]);
    expect(next).toContain("- cake: About cake");
    expect(await say("go on")).toBe("go on");
  });

  it("is not what a turn brought that never reached it", async () => {
    let broken = true;
    const { given } = await scene(files, {
      async *reply(turn) {
        if (!broken) return yield* plainly();
        void turn;
        yield { type: "turn.ended", reason: "failed", error: { code: "start", message: "no" }, usage: null };
      },
    });
    expect(await given("weather?")).toEqual(["weather"]);
    broken = false;
    expect(await given("weather?")).toEqual(["weather"]);
    expect(await given("weather?")).toEqual([]);
  });

  it("survives a restart of the daemon", async () => {
    const first = await scene(files);
    expect(await first.given("weather?")).toEqual(["weather"]);
    await first.stop();
    const second = await scene({}, { dir: first.dir });
    expect(await second.given("weather?", first.session)).toEqual([]);
  });
});

describe("load_skill and search_skills", () => {
  it("give text, folder and files by name, and find by words", async () => {
    const { driver, say, dir } = await scene({ ...files, "skills/weather/map.txt": "" });
    await say("hello");
    const { tools } = driver.turns[0]?.spec.host ?? {};
    const call = async (name: string, input: unknown) =>
      tools?.call(name, input, { key: `${name}${JSON.stringify(input)}`, signal: new AbortController().signal });
    expect(await call("load_skill", { name: "weather" })).toEqual({
      output: `<skill name="weather">\nCall the oracle at ${dir}/skills/weather.\n</skill>\nIts folder, from which its paths count: ${dir}/skills/weather\nFiles there: map.txt`,
      is_error: false,
    });
    expect(await call("load_skill", { name: "wether" })).toMatchObject({
      is_error: true,
      output: expect.stringContaining('no skill "wether" (did you mean "weather"?)'),
    });
    const found = await call("search_skills", { query: "brewing tea" });
    expect(JSON.parse(found?.output ?? "")).toEqual({ skills: [{ name: "tea", description: "Brew a pot of tea" }] });
    // What was loaded needs no giving.
    expect(namesIn(await say("weather?"))).toEqual([]);
  });

  it("say why a skill cannot be had", async () => {
    const { driver, say } = await scene(
      {
        ...files,
        "skills/mac/SKILL.md": simplePage("mac", "x", "metadata: { openclaw: { requires: { env: [NO_SUCH_KEY] } } }"),
        "skills/own/SKILL.md": simplePage("own", "x", "disable-model-invocation: true"),
      },
      { agents: [{ skills: ["mac", "own", "weather"], source: "config" }] },
    );
    await say("hello");
    const { tools } = driver.turns[0]?.spec.host ?? {};
    const why = async (name: string) =>
      (await tools?.call("load_skill", { name }, { key: name, signal: new AbortController().signal }))?.output;
    expect(await why("mac")).toContain("NO_SUCH_KEY is not set in the environment");
    expect(await why("tea")).toContain("it is kept from this agent");
    expect(await why("own")).toContain("only for people to call");
  });
});

describe("a skill with a context of its own", () => {
  const fork = page("name: dig\ndescription: Dig deep\ncontext: fork\nagent: miner", "Dig for $ARGUMENTS.");
  const agents = [{}, { slug: "miner", ref: "miner" }];

  it("runs in a subagent of the agent it names, once for a message", async () => {
    const { say, store, driver, session } = await scene({ "skills/dig/SKILL.md": fork }, { agents });
    const text = await say("/dig gold");
    const [spawned, ...more] = await eventsOfType(store, "subagent.spawned");
    expect(more).toEqual([]);
    expect(spawned?.data.subagent).toMatchObject({
      parent: session,
      agent: "miner",
      task: "Dig for gold.",
      label: "dig",
    });
    expect(text).toContain(`runs in the subagent ${spawned?.data.subagent.run_id} (agent: miner, label: dig)`);
    expect(namesIn(text)).toEqual([]);
    expect(driver.turns.length).toBeGreaterThan(0);
  });

  it("does so when an agent loads it", async () => {
    const { say, store, driver } = await scene({ "skills/dig/SKILL.md": fork }, { agents });
    await say("hello");
    const { tools } = driver.turns[0]?.spec.host ?? {};
    const options = { key: "k", signal: new AbortController().signal };
    const load = () => tools?.call("load_skill", { name: "dig", arguments: "coal" }, options);
    expect((await load())?.output).toMatch(/^Spawned: [0-9a-f]{12} \(agent: miner, label: dig\)/);
    await load();
    expect((await eventsOfType(store, "subagent.spawned")).map(({ data }) => data.subagent.task)).toEqual([
      "Dig for coal.",
    ]);
  });
});

describe("tools that a skill allows", () => {
  it("are not asked about in the turn a person called it, and are in the next", async () => {
    const { say, sessions, store } = await scene(
      { "skills/log/SKILL.md": simplePage("log", "x", "allowed-tools: Bash(git log:*)") },
      {
        async *reply({ spec, signal }) {
          yield accepted;
          const asked = {
            call: "c",
            tool: "Bash",
            kind: "execute",
            title: "t",
            input: { command: "git log -1" },
          } as const;
          const { decision } = await spec.host.permission(asked, signal);
          yield said(decision);
          yield completed;
        },
      },
    );
    const { session } = await sessions.create({ ask_policy: "deny" });
    await say("/log", session.id);
    await say("again", session.id);
    expect((await eventsOfType(store, "turn.ended")).map(({ data }) => data.text)).toEqual(["allow", "deny"]);
  });
});

describe("skills of plugins", () => {
  it("are offered like any other, until they are taken back", async () => {
    const { skills, say, given } = await scene({});
    const brought = { plugin: "p", name: "quilt", description: "Sew a quilt", content: "Sew." };
    const undo = skills.skills.add(parsePluginSkill(brought));
    expect(await given("a quilt please")).toEqual(["quilt"]);
    undo();
    expect(await say("a quilt please")).toContain("Removed: quilt");
  });
});
