import { describe, expect, it } from "vitest";
import { page, parse, parsed } from "./fixtures.ts";

const told = (text: string) => parse(text).diagnostics.map(({ line, code, message }) => `${line} ${code} ${message}`);

describe("a header as it should be", () => {
  it("gives every field and no remark", () => {
    const text = page(
      [
        "name: release-notes",
        "description: >-",
        "  How we write",
        "  release notes",
        "when_to_use: before a release",
        "argument-hint: <version>",
        "arguments: [version]",
        "disable-model-invocation: yes",
        "user-invocable: 'no'",
        "allowed-tools: Read, Bash(git log:*), Edit",
        "context: fork",
        "agent: writer",
        "license: MIT",
        "homepage: https://example.com/notes",
      ].join("\n"),
    );
    expect(parse(text).diagnostics).toEqual([]);
    expect(parsed(text)).toMatchObject({
      name: "release-notes",
      description: "How we write release notes",
      whenToUse: "before a release",
      argumentHint: "<version>",
      argumentNames: ["version"],
      modelInvocable: false,
      userInvocable: false,
      allowedTools: ["Read", "Bash(git log:*)", "Edit"],
      context: "fork",
      forkAgent: "writer",
      license: "MIT",
      homepage: "https://example.com/notes",
      agent: null,
    });
  });

  it.each([
    ["a mark of the byte order", "\uFEFF---\nname: a\ndescription: b\n---\ntext"],
    ["line ends of Windows", "---\r\nname: a\r\ndescription: b\r\n---\r\ntext\r\n"],
    ["line ends of old Macs", "---\rname: a\rdescription: b\r---\rtext\r"],
    ["blank lines above and blanks behind the marks", "\n  \n---  \nname: a\ndescription: b\n--- \t\ntext"],
    ["no line end at its end", "---\nname: a\ndescription: b\n---"],
  ])("is read with %s", (_, text) => {
    expect(parse(text)).toMatchObject({ skill: { name: "a", description: "b" }, diagnostics: [] });
  });

  it("is named after its folder when it has no name", () => {
    expect(parsed(page("description: b")).name).toBe("folder-name");
  });

  it("keeps three dashes inside a value", () => {
    expect(parsed(page('name: a\ndescription: "one --- two"')).description).toBe("one --- two");
    expect(parsed(page("name: a\ndescription: |\n  one\n  ---\n  two")).description).toBe("one --- two");
  });

  it("takes a name for a label only, on one line", () => {
    expect(parsed(page('name: "../../etc\\n- evil: yes"\ndescription: b')).name).toBe("../../etc - evil: yes");
  });
});

describe("a header with slips", () => {
  it.each([
    ["a colon", "name: a\ndescription: Use when: always", "Use when: always", /^3 repair .*quotes/],
    ["a hash", 'name: a\ndescription: "quoted" and #more', '"quoted" and #more', /^3 repair .*quotes do not enclose/],
    ["an asterisk", "name: a\ndescription: *Always* do it", "*Always* do it", /^3 repair .*quotes/],
    ["what looks like a list", "name: a\ndescription: [a] | [b]", "[a] | [b]", /^3 repair .*looks like a list/],
    ["what looks like a map", "name: a\ndescription: {x} then {y}", "{x} then {y}", /^3 repair .*looks like a list/],
    ["a tab", "name: a\ndescription: >\n\tText", "Text", /^4 repair .*tab/],
  ])("is mended where it holds %s", (_, header, description, remark) => {
    expect(parse(page(header)).skill).toMatchObject({ name: "a", description });
    expect(told(page(header))).toEqual([expect.stringMatching(remark)]);
  });

  it("reads a list on one line", () => {
    const text = page("name: a\ndescription: b\nallowed-tools: - Read - Bash(git:*)");
    expect(parsed(text).allowedTools).toEqual(["Read", "Bash(git:*)"]);
    expect(told(text)).toEqual([expect.stringMatching(/^4 repair .*line of its own/)]);
  });

  it("takes lines that look like fields of their own for part of the text before them", () => {
    const text = page('name: a\ndescription: Use this so.\nuser: "hello"\nassistant: ok\nExample: x: y\nlicense: MIT');
    expect(parse(text).skill).toMatchObject({ name: "a", license: "MIT" });
    const broken = page("name: a\ndescription: Use: this\n<example>\nuser: hi: you\n</example>\nlicense: MIT");
    expect(parse(broken).skill).toMatchObject({
      description: "Use: this <example> user: hi: you </example>",
      license: "MIT",
    });
    expect(told(broken)).toEqual([expect.stringMatching(/^3 repair description: .*text up to the next field/)]);
  });

  it("takes the first side of an unfinished merge", () => {
    const header =
      "name: a\n<<<<<<< HEAD\ndescription: ours\n=======\ndescription: theirs\n>>>>>>> branch\nlicense: MIT";
    expect(parse(page(header)).skill).toMatchObject({ description: "ours", license: "MIT" });
    expect(told(page(header))).toEqual([expect.stringMatching(/^3 repair .*unfinished merge/)]);
  });

  it("tells of a field that comes twice", () => {
    expect(told(page("name: a\ndescription: b\ndescription: c"))).toEqual([expect.stringMatching(/^4 repair .*once/)]);
  });

  it("cuts a description that is too long, and says by how much", () => {
    const text = page(`name: a\ndescription: ${"word ".repeat(1000)}`);
    expect(parsed(text).description).toHaveLength(1535);
    expect(told(text)).toEqual([expect.stringMatching(/^3 cap .*last \d+ of 4999 characters were cut/)]);
  });
});

describe("a page that cannot be used", () => {
  it.each([
    ["its header has no end", "---\nname: a\ndescription: b\n\n# Title\n\nsecret text", /^1 quarantine .*second ---/],
    [
      "its header has swallowed the text",
      "---\nname: a\ndescription: b\n\n# Title\n\nsecret: text: x\n---\nmore",
      /^5 quarantine/,
    ],
    ["it is empty", " \n", /^1 empty is empty/],
    ["it says nothing but its name", page("name: a", ""), /^1 field description: expected .*no text either/],
    [
      "aliases unfold without end and it says nothing else",
      page(
        `a: &a [x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d]`,
        "",
      ),
      /field description/,
    ],
    ["its header is endless", page(`name: a\ndescription: ${"x".repeat(40_000)}`), /quarantine .*32768/],
  ])("is told when %s", (_, text, remark) => {
    const { skill, diagnostics } = parse(text);
    expect(skill).toBeNull();
    expect(
      diagnostics.filter((one) => one.level === "error").map(({ line, code, message }) => `${line} ${code} ${message}`),
    ).toEqual([expect.stringMatching(remark)]);
    expect(JSON.stringify(diagnostics)).not.toContain("secret");
  });

  it("is one all the same where Claude Code would read it", () => {
    const { skill } = parse("# Title\n\nWhat it is\nabout.\n\nMore.", { headerless: true });
    expect(skill).toMatchObject({ name: "folder-name", description: "What it is about." });
  });
});

describe("what a skill needs", () => {
  const needs = (metadata: string) => parsed(page(`name: a\ndescription: b\n${metadata}`)).needs;

  it.each(["openclaw", "clawdbot", "moltbot", "clawdis", "aegis", "conduit"])("is read under %s", (key) => {
    expect(needs(`metadata:\n  ${key}:\n    requires:\n      bins: [jq]\n      env: KEY`)).toMatchObject({
      bins: ["jq"],
      env: ["KEY"],
    });
  });

  it.each([
    ["JSON", `metadata: {"openclaw":{"requires":{"anyBins":["a","b"]},"os":["macos","Windows"]}}`],
    ["text with JSON in it", `metadata: '{"openclaw":{"requires":{"anyBins":["a","b"]},"os":["macos","Windows"]}}'`],
    [
      "JSON as people write it",
      `metadata: "{openclaw:{requires:{anyBins:['a','b',],}, /* os */ os:['macos','Windows']},}"`,
    ],
    [
      "JSON over several lines",
      `metadata:\n  {\n    "openclaw": { "requires": { "anyBins": ["a", "b"] }, "os": ["macos", "Windows"], },\n  }`,
    ],
  ])("is read from %s", (_, metadata) => {
    expect(needs(metadata)).toMatchObject({ anyBins: ["a", "b"], os: ["darwin", "win32"] });
  });

  it("names the agent it is for under our keys only", () => {
    const agent = (key: string) => parsed(page(`name: a\ndescription: b\nmetadata: { ${key}: { agent: cook } }`)).agent;
    expect([agent("aegis"), agent("conduit"), agent("openclaw")]).toEqual(["cook", "cook", null]);
  });

  it("is left out with a remark when it makes no sense", () => {
    const text = page("name: a\ndescription: b\nmetadata: just words");
    expect(parsed(text).needs.bins).toEqual([]);
    expect(told(text)).toEqual([expect.stringMatching(/^4 field metadata: expected a map/)]);
  });
});
