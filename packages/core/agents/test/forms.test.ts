/** Forms in which people write agent files, each with what must come of it. */
import { expect, it } from "vitest";
import { parseAgentText } from "../src/parse.ts";

const origin = { source: "claude", plugin: null, file: "/agents/some-file.md", fallbackName: "some-file" } as const;

const forms: [name: string, text: string, profile: object][] = [
  [
    "examples in a description without quotes",
    '---\nname: api-tester\ndescription: Use this agent when: tests are due. <example>user: "test it"</example>\ntools: Read, Bash\n---\nTest.\n',
    { slug: "api-tester", tools: ["Read", "Bash"] },
  ],
  [
    "a description over many lines without quotes",
    '---\nname: planner-x\ndescription: Plans sprints.\n\nExamples:\n- <example>\n  Context: new work\n  user: "plan: it"\n  </example>\ncolor: green\nmodel: opus\n---\nPlan.\n',
    { slug: "planner-x", model: "opus", description: expect.stringContaining("Context: new work") },
  ],
  [
    "escaped line breaks in quotes",
    '---\nname: a\ndescription: "One.\\n\\nuser: \\"two\\""\n---\nx\n',
    { description: 'One.\n\nuser: "two"' },
  ],
  ["an apostrophe in single quotes", "---\nname: a\ndescription: 'It's ours'\n---\nx\n", { slug: "a" }],
  ["a value that begins with a star", "---\nname: a\ndescription: d\ntools: *\n---\nx\n", { tools: ["*"] }],
  ["all tools in words", "---\nname: a\ndescription: d\ntools: All tools\n---\nx\n", { tools: null }],
  ["tabs", "---\nname:\ta\ndescription:\td\ntools:\n\t- Read\n---\nx\n", { slug: "a", tools: ["Read"] }],
  ["Windows line ends", "---\r\nname: a\r\ndescription: d\r\n---\r\nx\r\n", { slug: "a", prompt: "x" }],
  ["a blank line first", "\n\n---\nname: a\ndescription: d\n---\nx\n", { slug: "a" }],
  ["a title first", "# The a\n\n---\nname: a\ndescription: d\n---\nx\n", { slug: "a" }],
  ["no name", "---\ndescription: d\n---\nx\n", { slug: "some-file" }],
  [
    "no description",
    "---\nname: a\nmodel: haiku\n---\nYou review code. Be kind.\n",
    { description: "You review code." },
  ],
  ["no text", "---\nname: a\ndescription: Reviews code\n---\n", { prompt: "Reviews code" }],
  [
    "a list of tools that YAML takes for maps",
    "---\nname: a\ndescription: d\ntools:\n  - Bash(npm: run)\n---\nx\n",
    {
      tools: ["Bash(npm: run)"],
    },
  ],
  ["a description as a list", "---\nname: a\ndescription:\n  - one\n  - two\n---\nx\n", { description: "one two" }],
  [
    "an unfinished merge",
    "---\n<<<<<<< HEAD\nname: a\n=======\nname: b\n>>>>>>> x\ndescription: d\n---\nx\n",
    { slug: "a" },
  ],
  [
    "fields of OpenCode",
    "---\ndescription: d\nmode: subagent\ntemperature: 0.1\ntools:\n  write: false\n  edit: false\n---\nx\n",
    {
      temperature: 0.1,
      deny_tools: ["write", "edit"],
    },
  ],
  ["a temperature in quotes", '---\nname: a\ndescription: d\ntemperature: "0.3"\n---\nx\n', { temperature: 0.3 }],
  ["a name in title case", "---\nname: Senior Dev (Go)\ndescription: d\n---\nx\n", { slug: "senior-dev-go" }],
];

it.each(forms)("%s", (_, text, profile) => {
  const parsed = parseAgentText(text, origin);
  expect(parsed.diagnostics.filter(({ level }) => level === "error")).toEqual([]);
  expect(parsed.profile).toMatchObject(profile);
});

it("never reads more rights out of a description than the fields give", () => {
  const text = "---\nname: a\ndescription: Plans: it\ntools: *\nuser: x: y\n  - z\ntools: Read\n---\nx\n";
  expect(parseAgentText(text, origin)).toMatchObject({ profile: null });
});
