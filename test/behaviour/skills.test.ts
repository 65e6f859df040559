import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { sharedDaemon, testProject } from "../helpers/project.ts";
import { answerTo, createSession, eventsOf, hasSaid, say, talk } from "../helpers/talk.ts";

const playbook = `
rules:
  - name: hold until a gate opens
    when: '/hold (\\S+)/'
    steps: [{ say: "holding {1}" }, { wait: { gate: "gates/{1}" } }, { say: "heard: {text}" }]
  - name: load a skill
    when: '/load (\\S+)$/'
    steps: [{ tool: load_skill, input: { name: "{1}" }, save: skill }, { say: "{skill}" }]
  - name: search
    when: '/^search (.+)/'
    steps: [{ tool: search_skills, input: { query: "{1}" }, save: found }, { say: "{found}" }]
  - name: ask
    when: '/git log/'
    steps: [{ ask: "May I?", tool: Bash, input: { command: "git log -1" }, save: decision }, { say: "{decision}" }]
  - name: anything else
    when: always
    steps: [{ say: "{text}" }]
`;

const agents = [
  "default_agent: dev",
  "agents:",
  "  dev: { harness: scripted, playbook: playbook.yaml }",
  "  meteo: { harness: scripted, playbook: playbook.yaml }",
  "  tea-only: { harness: scripted, playbook: playbook.yaml, skills: [tea] }",
  "",
].join("\n");

const skill = (name: string, description: string, body: string, more = "") =>
  `---\nname: ${name}\ndescription: ${description}\n${more}---\n\n${body}\n`;

const files = {
  ".aegis.yaml": agents,
  "playbook.yaml": playbook,
  ".aegis/skills/tea.md": skill("tea", "Brew a pot of tea", "Warm the pot."),
  "skills/weather/SKILL.md": skill(
    "weather",
    "Look up: weather",
    "Ask the sky.",
    "metadata: { aegis: { agent: meteo } }\n",
  ),
  "skills/zebra/SKILL.md": skill("zebra", "x", "Count the stripes."),
  "skills/zebra/stripes.txt": "many",
  ".claude/skills/log/SKILL.md": skill("log", "Read history", "Run git log.", "allowed-tools: Bash(git log:*)\n"),
};

describe("skills of a project", () => {
  const shared = sharedDaemon(files);

  it("reach the agent with the messages that are about them, and are there to load", async () => {
    const { client } = shared.daemon;
    const { id } = await createSession(client);
    const first = await talk(client, id, "brew some tea");
    expect(first).toContain('<skill name="tea">\nWarm the pot.\n</skill>');
    expect(await talk(client, id, "more tea")).toBe("more tea");
    const loaded = await talk(client, id, "load zebra");
    expect(loaded).toContain("Count the stripes.");
    expect(loaded).toContain("Files there: stripes.txt");
    expect(await talk(client, id, "search a pot")).toContain('"name":"tea"');
    expect(await talk(client, id, "load tee")).toContain('did you mean "tea"?');
    expect(
      (await eventsOf(client, "skill.given", id)).map(({ data }) =>
        data.skills.map(({ name, how }) => `${name} ${how}`),
      ),
    ).toEqual([["tea matched"], ["zebra matched"], ["zebra loaded"]]);
  });

  it("are seen from the next turn when they change", async () => {
    const { client } = shared.daemon;
    const { id } = await createSession(client);
    await talk(client, id, "hello");
    await shared.project.write(".agents/skills/cake/SKILL.md", skill("cake", "Bake a cake", "Heat the oven."));
    const told = await talk(client, id, "a cake please");
    expect(told).toContain("New:\n- cake: Bake a cake");
    expect(told).toContain("Heat the oven.");
    await rm(join(shared.project.dir, ".agents"), { recursive: true });
    expect(await talk(client, id, "hello")).toContain("Removed: cake");
  });

  it("send a message to the agent they are for", async () => {
    const { client } = shared.daemon;
    const { id } = await createSession(client);
    const receipt = await say(client, id, "how is the weather?");
    expect(receipt.text).toMatch(/^landed at \S+: the skill "weather" is for the agent "meteo"$/);
    expect(receipt.session).not.toBe(id);
    expect(await answerTo(client, receipt)).toContain("Ask the sky.");
  });

  it("let pass what they allow, in the turn a person calls them", async () => {
    const { client } = shared.daemon;
    const { id } = await createSession(client, { ask_policy: "deny" });
    expect(await talk(client, id, "/log of today")).toBe("allowed");
    expect(await talk(client, id, "git log")).toBe("denied");
  });

  it("are only those an agent may have", async () => {
    const { client } = shared.daemon;
    const { id } = await createSession(client, { agent: "tea-only" });
    expect(await talk(client, id, "load log")).toContain("it is kept from this agent");
    const { skills } = await client.call("listSkills", { query: { agent: "tea-only" } });
    expect(skills.map(({ name }) => name)).toEqual(["tea"]);
  });
});

it("a message that calls a skill does not join a turn in progress, whose beginning could not bring its text", async () => {
  const project = await testProject(files);
  const { client } = await project.start();
  const { id } = await createSession(client);
  await say(client, id, "hold one");
  await hasSaid(client, id, "holding one");
  const receipt = await say(client, id, "/tea for two", { mode: "steer" });
  expect(receipt.outcome).toBe("queued");
  expect(receipt.text).toContain('the skill "tea" gets its own turn');
  await project.open("one");
  expect(await answerTo(client, receipt)).toContain("Warm the pot.");
});

describe("after the daemon was killed", () => {
  it("a text that its agent had not taken note of is given again, once", { tags: "slow" }, async () => {
    const project = await testProject(files);
    const first = await project.start();
    const { id } = await createSession(first.client);
    const receipt = await say(first.client, id, "tea, hold gate");
    await hasSaid(first.client, id, "holding gate");
    await first.kill();
    const { client } = await project.start();
    await project.open("gate");
    const text = await answerTo(client, receipt);
    expect(text.match(/Warm the pot\./g)).toHaveLength(1);
    expect(await talk(client, id, "tea again")).toBe("tea again");
  });

  it("a message that was passed on is answered where it went, once", { tags: "slow" }, async () => {
    const project = await testProject(files);
    const first = await project.start();
    const { id } = await createSession(first.client);
    const message = { id: "msg_00000000000000000000000001" as never };
    const receipt = await say(first.client, id, "weather, hold gate", message);
    await hasSaid(first.client, receipt.session, "holding gate");
    await first.kill();
    const { client } = await project.start();
    expect(await say(client, id, "weather, hold gate", message)).toMatchObject({
      session: receipt.session,
      duplicate: true,
    });
    await project.open("gate");
    expect(await answerTo(client, receipt)).toContain("Ask the sky.");
    expect(await eventsOf(client, "skill.routed")).toHaveLength(1);
    expect(await eventsOf(client, "message.admitted", receipt.session)).toHaveLength(1);
  });
});

describe("the command line", () => {
  it("lists, shows, checks, finds, makes and validates", { tags: "slow" }, async () => {
    const { aegis, json, root } = await aegisProject({
      ...files,
      "skills/needy/SKILL.md": skill(
        "needy",
        "x",
        "y",
        "metadata: { openclaw: { requires: { bins: [no-such-program], env: [NO_SUCH_KEY], config: [no.setting] } } }\n",
      ),
      "skills/broken/SKILL.md": "---\nname: broken\n",
    });
    expect(
      (await aegis("skill", "new", "notes", "--description", "Write release notes", "--body", "List it.")).stdout,
    ).toBe("made notes (.aegis/skills/notes/SKILL.md)\n");
    expect((await aegis("skill", "list")).stdout).toMatch(/notes +aegis +all +Write release notes/);
    const check = await aegis("skill", "check");
    expect(check.stderr).toBe("");
    expect(check.code).toBe(1);
    expect(check.stdout).toMatch(
      /no +needy +project +no program no-such-program on PATH\n +NO_SUCH_KEY is not set.*\n +.*no\.setting/,
    );
    expect(check.stdout).toContain("skills/broken/SKILL.md:1: error: expected a second --- line");
    expect(check.stdout).toContain("skills/weather/SKILL.md:3: warning: expected quotes");
    expect(check.stdout).toMatch(/agents see 5 skills in \d+ characters/);
    expect((await aegis("skill", "show", "weather")).stdout).toContain("agent        meteo");
    expect((await aegis("skill", "show", "wether")).stderr).toContain('no skill "wether" (did you mean "weather"?)');
    const { skills } = await json<{ skills: { name: string }[] }>("skill", "search", "release");
    expect(skills.map(({ name }) => name)).toEqual(["notes"]);
    expect((await aegis("skill", "validate", join(root, "skills/needy"))).stdout).toContain("no problems found");
    expect((await aegis("skill", "validate")).code).toBe(1);
    const answer = await json<{ text: string; handle: string }>("run", "weather please");
    expect(answer.text).toContain("Ask the sky.");
    expect((await aegis("run", "/skill wether")).stderr).toContain('did you mean "weather"?');
  });
});
