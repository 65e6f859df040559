/**
 * Shapes in which skills, agents and commands occur in public collections, each with what becomes of it: it is usable and what had
 * to be repaired is told, or it is not and the reason is exact. All texts were written for this test.
 */

import { parseAgentText } from "@aegis/agents/parse.ts";
import { describe, expect, it } from "vitest";
import { parseCommandPage } from "../src/commands/page.ts";
import { parse as parseSkillText } from "./fixtures.ts";

type Usable = {
  name?: string;
  description: string | RegExp;
  /** What is told, in order. Nothing where the page is as it should be. */
  told?: RegExp[];
};
type Shape = [what: string, text: string, expected: Usable | { lost: RegExp }];

const long = "word ".repeat(2_000);

/** Shapes that mean the same in all three kinds of page. `%` is the kind's own text. */
const shared: Shape[] = [
  [
    "as it should be",
    "---\nname: tidy\ndescription: Tidies up\n---\nBody.",
    { name: "tidy", description: "Tidies up" },
  ],
  [
    "a mark of the byte order",
    "\uFEFF---\nname: tidy\ndescription: Tidies up\n---\nBody.",
    { description: "Tidies up" },
  ],
  ["line ends of Windows", "---\r\nname: tidy\r\ndescription: Tidies up\r\n---\r\nBody.", { description: "Tidies up" }],
  [
    "an unquoted colon",
    "---\nname: tidy\ndescription: Use when: things lie around\n---\nBody.",
    { description: "Use when: things lie around", told: [/quotes/] },
  ],
  [
    "examples in angle brackets with \\n in one line",
    '---\nname: tidy\ndescription: Tidies. Examples:\\n\\n<example>\\nuser: "go"\\n</example>\n---\nBody.',
    { description: /^Tidies\. Examples:/, told: [/quotes/] },
  ],
  [
    "an example over lines that are no YAML",
    "---\nname: tidy\ndescription: Tidies. Like so:\n<example>\nuser: do: it\n</example>\nmodel: inherit\n---\nBody.",
    { description: /^Tidies\. Like so: <example>/, told: [/text up to the next field/] },
  ],
  [
    "a description that begins on the next line",
    "---\nname: tidy\ndescription:\n  Tidies up the house and\n  the garden.\n---\nBody.",
    { description: "Tidies up the house and the garden." },
  ],
  [
    "a folded description",
    "---\nname: tidy\ndescription: >\n  Tidies\n  up\n---\nBody.",
    { description: /^Tidies up/ },
  ],
  ["tabs behind the colons", "---\nname:\ttidy\ndescription:\tTidies up\n---\nBody.", { description: "Tidies up" }],
  [
    "tabs before a text",
    "---\nname: tidy\ndescription: >\n\tTidies up\n---\nBody.",
    { description: "Tidies up", told: [/found a tab/] },
  ],
  [
    "keys that begin with a capital",
    "---\nName: tidy\nDescription: Tidies up\n---\nBody.",
    { name: "tidy", description: "Tidies up", told: [/expected name, found Name/, /expected description, found Desc/] },
  ],
  [
    "a field twice",
    "---\nname: tidy\ndescription: Old\ndescription: Tidies up\n---\nBody.",
    { description: "Tidies up", told: [/once; the last one counts/] },
  ],
  [
    "a remark above",
    "<!-- generated,\ndo not edit -->\n---\nname: tidy\ndescription: Tidies up\n---\nBody.",
    { description: "Tidies up", told: [/--- line of the fields first/] },
  ],
  [
    "a title above",
    "# Tidy\n\n---\nname: tidy\ndescription: Tidies up\n---\nBody.",
    { description: "Tidies up", told: [/--- line of the fields first/] },
  ],
  [
    "a fence around all of it",
    "```markdown\n---\nname: tidy\ndescription: Tidies up\n---\nBody.\n```\n",
    { description: "Tidies up", told: [/--- line of the fields first/] },
  ],
  [
    "two fences around all of it",
    "````chatagent\n```chatagent\n---\nname: tidy\ndescription: Tidies up\n---\nBody.\n```\n````\n",
    { description: "Tidies up", told: [/--- line of the fields first/] },
  ],
  [
    "fields in a fence instead of dashes",
    "```yaml\nname: tidy\ndescription: Tidies up\n```\n\nBody.",
    { description: "Tidies up", told: [/other marks/] },
  ],
  [
    "TOML",
    '+++\nname = "tidy"\ndescription = "Tidies up"\n+++\nBody.',
    { description: "Tidies up", told: [/found TOML/] },
  ],
  [
    "a first mark that is pushed in",
    " ---\nname: tidy\ndescription: Tidies up\n---\nBody.",
    { description: "Tidies up", told: [/other marks/] },
  ],
  [
    "a second mark that is too long",
    "---\nname: tidy\ndescription: Tidies up\n-----\nBody.",
    { description: "Tidies up", told: [/other marks/] },
  ],
  [
    "a second mark that a word processor made one dash of",
    "---\nname: tidy\ndescription: Tidies up\n\u2014\nBody.",
    { description: "Tidies up", told: [/other marks/] },
  ],
  [
    "no first mark",
    "name: tidy\ndescription: Tidies up\n---\nBody.",
    { description: "Tidies up", told: [/--- line before the fields/] },
  ],
  [
    "no marks",
    "name: tidy\ndescription: Tidies up\n\n# Tidy\n\nBody.",
    { description: "Tidies up", told: [/--- line before the fields/] },
  ],
  [
    "an unfinished merge",
    "---\nname: tidy\n<<<<<<< HEAD\ndescription: Tidies up\n=======\ndescription: Cleans\n>>>>>>> x\n---\nBody.",
    { description: "Tidies up", told: [/unfinished merge/] },
  ],
];

const skillShapes: Shape[] = [
  ...shared,
  [
    "no header",
    "# Packet tracer\n\nFollows a packet through\nthe network.\n\n## Steps\n\n1. Go.",
    {
      name: "folder-name",
      description: "Follows a packet through the network.",
      told: [/^expected a header/, /taken from the text: "Follows/],
    },
  ],
  [
    "no header and nothing but a title",
    "# Packet tracer",
    { description: "Packet tracer", told: [/^expected a header/, /taken from the text/] },
  ],
  [
    "no header, a badge and a table first",
    "# Tidy\n![b](x.svg)\n\n| a | b |\n|---|---|\n\n> **Tidies** the [house](x).\n",
    { description: "Tidies the house.", told: [/^expected a header/, /taken from the text/] },
  ],
  [
    "no description",
    "---\nname: tidy\n---\n\n# Tidy\n\nTidies up the house.",
    { description: "Tidies up the house.", told: [/^description: expected one; taken from the text/] },
  ],
  ["a description under another name", "---\nname: tidy\nsummary: Tidies up\n---\nBody.", { description: "Tidies up" }],
  [
    "a description that is cut",
    `---\nname: tidy\ndescription: ${long}\n---\nBody.`,
    { description: /…$/, told: [/characters were cut/] },
  ],
  [
    "a text in place of fields",
    "---\nThis skill tidies up\n---\n\nTidies up the house.",
    { description: "Tidies up the house.", told: [/could be read as fields/, /taken from the text/] },
  ],
  ["no name", "---\ndescription: Tidies up\n---\nBody.", { name: "folder-name", description: "Tidies up" }],
  [
    "a name with blanks",
    "---\nname: Tidy It Up!\ndescription: Tidies\n---\nBody.",
    { name: "Tidy It Up!", description: "Tidies" },
  ],
  [
    "a name of another script",
    "---\nname: 整理\ndescription: Tidies\n---\nBody.",
    { name: "整理", description: "Tidies" },
  ],
  [
    "a list of tools",
    "---\ndescription: Tidies\nallowed-tools: [Read, 'Bash(git:*)']\n---\nBody.",
    { description: "Tidies" },
  ],
  ["all tools", '---\ndescription: Tidies\nallowed-tools: "*"\n---\nBody.', { description: "Tidies" }],
  ["fields nobody knows", "---\ndescription: Tidies\nmood: good\nmodel: gpt-9\n---\nBody.", { description: "Tidies" }],
  ["nothing", "", { lost: /^is empty/ }],
  ["blanks", " \n\n", { lost: /^is empty/ }],
  [
    "a name and nothing else",
    "---\nname: tidy\n---\n",
    { lost: /^description: expected .*no text either, so it is not used/ },
  ],
  [
    "a header without an end",
    "---\nname: tidy\ndescription: Tidies\n\n# Title\n\nText.",
    { lost: /^expected a second ---/ },
  ],
];

const agentShapes: Shape[] = [
  ...shared,
  [
    "no header",
    "# Growth\n\nYou grow the audience. Always.",
    {
      name: "file-name",
      description: "You grow the audience.",
      told: [/its text is the prompt/, /file's is taken/, /taken from its text/],
    },
  ],
  [
    "no name",
    "---\ndescription: Tidies up\n---\nYou tidy.",
    { name: "file-name", description: "Tidies up", told: [/file's is taken: file-name/] },
  ],
  [
    "a name with blanks and capitals",
    "---\nname: Tidy It Up\ndescription: Tidies\n---\nYou tidy.",
    { name: "tidy-it-up", description: "Tidies", told: [/taken as tidy-it-up/] },
  ],
  [
    "a name of another script",
    "---\nname: 整理\ndescription: Tidies\n---\nYou tidy.",
    { name: "file-name", description: "Tidies", told: [/taken as file-name/] },
  ],
  [
    "tools as text",
    "---\nname: tidy\ndescription: Tidies\ntools: Read, Bash(git:*)\n---\nYou tidy.",
    { description: "Tidies" },
  ],
  [
    "tools as a list",
    "---\nname: tidy\ndescription: Tidies\ntools: [Read, Edit]\n---\nYou tidy.",
    { description: "Tidies" },
  ],
  [
    "tools as switches",
    "---\nname: tidy\ndescription: Tidies\ntools:\n  write: false\n---\nYou tidy.",
    { description: "Tidies" },
  ],
  [
    "all tools, unquoted",
    "---\nname: tidy\ndescription: Tidies\ntools: *\n---\nYou tidy.",
    { description: "Tidies", told: [/quotes/] },
  ],
  [
    "a model nobody knows",
    "---\nname: tidy\ndescription: Tidies\nmodel: gpt-9\n---\nYou tidy.",
    { description: "Tidies" },
  ],
  ["nothing", "", { lost: /^is empty/ }],
  ["a name and nothing else", "---\nname: tidy\n---\n", { lost: /expected the system prompt/ }],
  [
    "a header without an end",
    "---\nname: tidy\ndescription: Tidies\n\n# Title\n\nYou tidy.",
    { lost: /^expected a second ---/ },
  ],
  [
    "tools that cannot be read",
    "---\nname: tidy\ndescription: Tidies\ntools: [Read\n---\nYou tidy.",
    { lost: /must not be guessed/ },
  ],
];

const commandShapes: Shape[] = [
  // A name is the file's, and a title above fields is part of what they do not know.
  ...shared.map(([what, text, expected]): Shape => {
    if ("lost" in expected) return [what, text, expected];
    return [what, text, { description: expected.description }];
  }),
  ["no header", "# Tidy\n\nTidy up $ARGUMENTS.", { description: "Tidy" }],
  [
    "a hint in brackets",
    "---\ndescription: Tidies\nargument-hint: [room] [hours]\n---\nTidy $1.",
    { description: "Tidies" },
  ],
  ["a header without an end", "---\ndescription: Tidies\n\n# Tidy\n\nTidy up.", { description: /./ }],
  ["nothing", "", { lost: /^expected a text for the agent/ }],
];

type Outcome = { name: string | null; description: string | null; told: string[]; lost: string[] };

function asSkill(text: string): Outcome {
  const { skill, diagnostics } = parseSkillText(text);
  return outcome(skill?.name, skill?.description, diagnostics);
}

function asAgent(text: string): Outcome {
  const origin = { source: "project", plugin: null, file: "/x/file-name.md", fallbackName: "file-name" } as const;
  const { profile, diagnostics } = parseAgentText(text, origin);
  return outcome(profile?.slug, profile?.description, diagnostics);
}

function asCommand(text: string): Outcome {
  const { page, diagnostics } = parseCommandPage(new TextEncoder().encode(text), "x.md");
  return outcome(undefined, page?.description, diagnostics);
}

function outcome(
  name: string | undefined,
  description: string | undefined,
  diagnostics: readonly { level: string; message: string }[],
): Outcome {
  const of = (isError: boolean) =>
    diagnostics.filter(({ level }) => (level === "error") === isError).map(({ message }) => message);
  return { name: name ?? null, description: description?.trim() ?? null, told: of(false), lost: of(true) };
}

describe.each([
  { kind: "a skill", read: asSkill, shapes: skillShapes },
  { kind: "an agent", read: asAgent, shapes: agentShapes },
  { kind: "a command", read: asCommand, shapes: commandShapes },
])("$kind", ({ read, shapes }) => {
  it.each(shapes)("%s", (_, text, expected) => {
    const got = read(text);
    if ("lost" in expected) {
      expect(got.description).toBeNull();
      expect(got.lost).toEqual([expect.stringMatching(expected.lost)]);
      return;
    }
    const { name, description, told } = expected;
    expect(got.lost).toEqual([]);
    expect(got.description).toEqual(typeof description === "string" ? description : expect.stringMatching(description));
    if (name !== undefined && got.name !== null) expect(got.name).toBe(name);
    if (read !== asCommand) expect(got.told).toEqual((told ?? []).map((one) => expect.stringMatching(one)));
  });
});
