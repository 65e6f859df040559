import { describe, expect, it } from "vitest";
import { parseAgentText } from "../../../src/runtime/agents/parse.ts";
import { changeAgentText, newAgentText } from "../../../src/runtime/agents/write.ts";

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
    ["permissionMode: dontAsk", "4: permissionMode: has no meaning here"],
    ["effort: low\nreasoning_effort: high", "4: effort: expected only one of reasoning_effort or effort"],
  ])("%j is warned about", (yaml, warning) => {
    expect(parsed(yaml).warnings.join()).toContain(warning);
  });
});

describe("what makes a file useless", () => {
  it.each([
    ["name: helper", undefined, "1: description: expected a sentence"],
    [required, " \n", "2: name: expected the system prompt"],
    [`${required}\ntools: 5`, undefined, "4: tools: expected a list of names"],
    [`${required}\ntools: [read, 5]`, undefined, "4: tools: expected a list of names"],
    [`${required}\ntools: { read: true }`, undefined, "4: tools: expected a list of names"],
    [`${required}\ntemperature: hot`, undefined, "4: temperature: expected a number from 0 to 2"],
    [`${required}\ntemperature: 2.1`, undefined, "4: temperature: expected a number from 0 to 2"],
    [`${required}\nmaxTurns: 1.5`, undefined, "4: maxTurns: expected a whole number"],
    [`${required}\npermission: root`, undefined, "4: permission: expected one of read, write"],
    [`${required}\neffort: 3`, undefined, "4: effort: expected one of low"],
    [`${required}\nsubagents: { max_children: 0 }`, undefined, "4: subagents: max_children"],
    ["name: 123\ndescription: d", undefined, "2: name: expected text, found 123"],
    [`name: helper\ndescription: ${"x".repeat(5_000)}`, undefined, "3: description: expected at most"],
  ])("%j", (yaml, body, error) => {
    expect(errors(yaml, body).join()).toContain(error);
  });

  it.each(["a/b", "..", "../../etc", "a:b", "x".repeat(65), "-a", "a--b", "é", "a\\b"])("the name %j", (name) => {
    expect(errors(`name: ${JSON.stringify(name)}\ndescription: d`).join()).toContain("name: expected lower-case");
  });

  it("no fields at all, or fields that do not end", () => {
    expect(parseAgentText("Just text", origin)).toMatchObject({ profile: null, diagnostics: [{ line: 1 }] });
    expect(parseAgentText("---\nname: x", origin)).toMatchObject({ profile: null, diagnostics: [{ level: "error" }] });
  });
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
