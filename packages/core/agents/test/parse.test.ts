import { describe, expect, it } from "vitest";
import { parseAgentText } from "../src/parse.ts";
import { changeAgentText, newAgentText } from "../src/write.ts";

const origin = { source: "project", plugin: null, file: "/x.md", fallbackName: "x" } as const;
const parse = (yaml: string, body = "Do it.") => parseAgentText(`---\n${yaml}\n---\n\n${body}\n`, origin);
const required = "name: helper\ndescription: Helps";
const parsed = (yaml: string) => {
  const { profile, diagnostics } = parse(`${required}\n${yaml}`);
  if (profile === null) throw new Error(diagnostics.map((one) => one.message).join("; "));
  return { ...profile, warnings: diagnostics.map((one) => `${one.line}: ${one.message}`) };
};
const errors = (yaml: string, body?: string) => {
  const { profile, diagnostics } = parse(yaml, body);
  expect(profile).toBeNull();
  return diagnostics.filter((one) => one.level === "error").map((one) => `${one.line}: ${one.message}`);
};

describe("the fields of an agent file", () => {
  it("those of Code Ally", () => {
    const yaml =
      "model: m\ntemperature: 0\nreasoning_effort: high\ntools: [read, query_db]\ncreated_at: a\nupdated_at: b";
    expect(parsed(yaml)).toMatchObject({
      slug: "helper",
      description: "Helps",
      prompt: "Do it.",
      model: "m",
      temperature: 0,
      effort: "high",
      tools: ["read", "query_db"],
      warnings: [],
    });
  });

  it("those of Claude Code", () => {
    const yaml =
      "tools: Read, Bash(git add:*, git commit:*), mcp__aegis\ndisallowedTools: Write\nmodel: inherit\nmaxTurns: 5\nskills: [a]\npermissionMode: plan\neffort: max\ncolor: red";
    expect(parsed(yaml)).toMatchObject({
      tools: ["Read", "Bash(git add:*, git commit:*)", "mcp__aegis"],
      deny_tools: ["Write"],
      model: null,
      max_turns: 5,
      skills: ["a"],
      permission: "read",
      effort: "high",
      warnings: [],
    });
  });

  it("our own", () => {
    const yaml =
      "harness: native\npermission: write\ntools_allow: [read]\ntools_deny: bash\nsubagents: { max_children: 2, allow_agents: ['*'] }";
    expect(parsed(yaml)).toMatchObject({
      harness: "native",
      permission: "write",
      tools: ["read"],
      deny_tools: ["bash"],
      subagents: { max_children: 2, allow_agents: ["*"] },
      warnings: [],
    });
  });

  it.each([
    ["tools: []", null, 1],
    ['tools: ""', null, 1],
    ["tools: none", [], 0],
    ["tools: [none]", [], 0],
    ["tools:\n- read", ["read"], 0],
    ["model: m", null, 0],
  ])("%j gives %j", (yaml, tools, warnings) => {
    const result = parsed(yaml);
    expect(result.tools).toEqual(tools);
    expect(result.warnings).toHaveLength(warnings);
  });

  it.each([
    ["tool: read", '4: tool: no such field (did you mean "tools"?)'],
    ["mcpServers: {}", "4: mcpServers: has no effect here"],
    ["effort: low\nreasoning_effort: high", "4: effort: expected only one of reasoning_effort or effort"],
  ])("%j is warned about", (yaml, warning) => {
    expect(parsed(yaml).warnings.join()).toContain(warning);
  });
});

describe("what cannot be read", () => {
  it.each([
    ["tools: 5", "4: tools: expected a list of names"],
    ["tools: [read, 5]", "4: tools: expected a list of names"],
    ["tools: [read", "4: looks like a list or a map but is none"],
    ["tools: { read: maybe }", "4: tools: expected true or false for read"],
    ["tools: read\ntools: bash", '5: expected "tools" once'],
    ["deny_tools: 5", "4: deny_tools: expected a list of names"],
    ['disallowedTools: "Bash" and more', "4: the quotes do not enclose the whole value"],
    ["permission: root", "4: permission: expected one of read, write"],
    ["permission: { bash: perhaps }", "4: permission: expected allow, ask or deny for bash"],
    ["permissionMode: yolo", "4: permissionMode: expected one of default"],
    ["subagents: { max_children: 0 }", "4: subagents: max_children"],
    ["subagents: { max_child: 1 }", '4: subagents: unknown field "max_child" (did you mean "max_children"?)'],
  ])("%j leaves no agent, for it says what the agent may do", (yaml, error) => {
    expect(errors(`${required}\n${yaml}`).join()).toContain(error);
  });

  it.each([
    ["temperature: hot", "4: temperature: expected a number from 0 to 2", { temperature: null }],
    ["temperature: 2.1", "4: temperature: expected a number from 0 to 2", { temperature: null }],
    ["maxTurns: 1.5", "4: maxTurns: expected a whole number", { max_turns: null }],
    ["effort: 3", "4: effort: expected one of low", { effort: null }],
    ["model: { best: x }", "4: model: expected text, found a map", { model: null }],
    ["model: [opus, sonnet]", "4: model: expected one model", { model: "opus" }],
    ["skills: { a: b }", "4: skills: expected a list of names", { skills: [] }],
  ])("%j is left out with a warning", (yaml, warning, profile) => {
    const result = parsed(yaml);
    expect(result.warnings.join()).toContain(warning);
    expect(result).toMatchObject(profile);
  });

  it("no text at all, or fields that do not end", () => {
    expect(errors("name: helper", " \n").join()).toContain("2: name: expected the system prompt");
    expect(parseAgentText(" \n", origin)).toMatchObject({ profile: null, diagnostics: [{ line: 1, level: "error" }] });
    expect(parseAgentText("---\nname: x", origin)).toMatchObject({ profile: null, diagnostics: [{ level: "error" }] });
  });
});

describe("what stands in for what is missing", () => {
  it("the first sentence of the text for the description", () => {
    const { profile, diagnostics } = parse("name: helper", "# Helper\n\nYou help people. Always.\n\nMore.");
    expect(profile?.description).toBe("You help people.");
    expect(diagnostics).toMatchObject([{ level: "warning", message: expect.stringContaining("taken from its text") }]);
  });

  it("the description for the text", () => {
    expect(parse(required, "").profile).toMatchObject({ prompt: "Helps" });
  });

  it("the beginning of a description for one that is too long", () => {
    const { profile, diagnostics } = parse(`name: helper\ndescription: ${"x".repeat(5_000)}`);
    expect(profile?.description).toHaveLength(4_000);
    expect(diagnostics.map((one) => one.message).join()).toContain("the last 1000 of 5000 characters were cut");
  });

  it("the other agent's fields where it extends one", () => {
    expect(parse("name: helper\nextends: db:dba\nmodel: m", "")).toMatchObject({
      profile: { extends: "db:dba", description: "", prompt: "", model: "m" },
      diagnostics: [],
    });
  });
});

describe("rights in the words of OpenCode", () => {
  it.each([
    ["tools: { write: false, bash: false, read: true }", { tools: null, deny_tools: ["write", "bash"] }],
    ["tools: { '*': false, read: true, webfetch: true }", { tools: ["read", "fetch"], deny_tools: [] }],
    ["permission: { edit: deny, bash: ask }", { permission: "auto", deny_tools: ["edit", "write"] }],
    ["permission: { bash: { 'git *': allow, '*': deny } }", { permission: null, deny_tools: ["bash"] }],
    ["tools: { write: false }\ndeny_tools: [bash]", { deny_tools: ["bash", "write"] }],
  ])("%j", (yaml, profile) => {
    expect(parsed(yaml)).toMatchObject(profile);
  });

  it("an agent that is switched off is left out", () => {
    expect(parse(`${required}\ndisable: true`)).toMatchObject({ profile: null, diagnostics: [{ level: "warning" }] });
  });
});

it.each([
  ["Code Reviewer", "code-reviewer"],
  ["UI/UX Designer", "ui-ux-designer"],
  ["C++ Pro", "cpp-pro"],
  ["c#-expert", "csharp-expert"],
  ["../../etc", "etc"],
  ["a:b", "a-b"],
  ["-a--b-", "a-b"],
  ["Résumé_Writer", "resume_writer"],
  ["3d artist", "agent-3d-artist"],
  ["404", "agent-404"],
  ["🚀 rocket", "rocket"],
  ["代码审查", "x"],
  ["x".repeat(65), "x".repeat(64)],
])("the name %j becomes %s", (name, slug) => {
  const { profile, diagnostics } = parse(`name: ${JSON.stringify(name)}\ndescription: d`);
  expect(profile?.slug).toBe(slug);
  expect(diagnostics).toMatchObject([{ level: "warning", message: expect.stringContaining(`taken as ${slug}`) }]);
});

it.each(["AGENTS.md", "CLAUDE.md", "README.md", "Readme.md"])("%s without fields is no agent and no fault", (name) => {
  const text = "# About\n\nThese are our agents.";
  expect(parseAgentText(text, { ...origin, file: `/agents/${name}` })).toEqual({ profile: null, diagnostics: [] });
});

it("a name in Claude Code's style is taken, a missing one is the file's", () => {
  expect(parse("name: Code Reviewer\ndescription: d").profile?.slug).toBe("code-reviewer");
  expect(parse("description: d").profile?.slug).toBe("x");
});

describe("writing", () => {
  const then = new Date("2024-01-01T00:00:00Z");
  const now = new Date("2024-02-02T00:00:00Z");

  it("is read back as it was meant, whatever the description holds", () => {
    const description = 'a"\ntools: ["bash"]\n---\nx: "';
    const text = newAgentText({ name: "helper", description, temperature: 0, tools: "none" }, "Do: it\n---\n", then);
    expect(parseAgentText(text, origin)).toMatchObject({
      profile: { slug: "helper", description, temperature: 0, tools: [], prompt: "Do: it\n---" },
      diagnostics: [],
    });
  });

  it("leaves no second field that says the same by another name", () => {
    const text =
      "---\nname: a\ndescription: d\neffort: high\ndisallowedTools: Bash # why\ntools_allow: Read\n---\nDo.\n";
    const changes = { reasoning_effort: "low", deny_tools: null, tools: ["read"] };
    expect(parseAgentText(changeAgentText(text, changes, undefined, now), origin)).toMatchObject({
      profile: { effort: "low", deny_tools: [], tools: ["read"] },
      diagnostics: [],
    });
  });

  it("keeps when it was made and says when it was changed", () => {
    const text = newAgentText({ name: "helper", description: "d", model: "m" }, "Do.", then);
    const changed = changeAgentText(
      text.replace("model: m", "model: m # why"),
      { model: "n", description: null },
      "New.",
      now,
    );
    expect(changed).toBe(
      "---\nname: helper\nmodel: n # why\ncreated_at: 2024-01-01T00:00:00.000Z\nupdated_at: 2024-02-02T00:00:00.000Z\n---\n\nNew.\n",
    );
  });
});
