/** What must hold for every page of a skill, whatever is in it; and pages that try to break it. */
import { isDeepStrictEqual } from "node:util";
import { readQuickHeader, readYaml } from "@aegis/lib/frontmatter.ts";
import { parseSkill, type SkillOrigin } from "@aegis/skills/parse.ts";
import fc from "fast-check";

export type Property = { name: string; property: fc.IProperty<[string]> };

/** No part of a page may take longer to read, on any machine. */
const patienceMs = 1_000;
/** Stands in bodies and nowhere else. */
const mark = "BODYMARK";
/** Lines that are taken for the end of a header, where no line of three dashes is. */
const endOfHeader = /^[ \t]*(?:-{2,}|\.{3}|[\u2013\u2014]-{0,2}|\*{3}|_{3}|\+{3}|```+|~~~+)[ \t]*$/;

const scraps = fc.constantFrom(
  ...[
    "name: x",
    "description: ",
    "description: Use when: it fits",
    "metadata:",
    "  openclaw:",
    "    requires:",
    "      bins: [a]",
  ],
  ...[
    'metadata: {"a":1}',
    "metadata: {a:'b',}",
    "allowed-tools: Read, Bash(git:*)",
    "- a",
    "  - b",
    ": ",
    " #",
    "#",
    "'it'",
    '"q"',
  ],
  ...[
    "[a] | [b]",
    "{x",
    "}",
    "]",
    "&a",
    "*a",
    "<<: *a",
    "!!str",
    "%YAML",
    "|",
    ">-",
    "? k",
    "\t",
    "\r\n",
    "\r",
    "\u2028",
    "\uFEFF",
  ],
  ...[
    "<<<<<<< HEAD",
    "=======",
    ">>>>>>> b",
    "true",
    "~",
    "0x1f",
    "1e3",
    ".5",
    "1_000",
    "2024-01-01",
    "at: 2024-01-01T09:00:00.123Z",
    "count: 0",
    "heat: 0.70",
    "old: 007",
    "long: 12345678901234567890",
    "[1, 2.5, x]",
    "__proto__: x",
    "constructor: y",
  ],
  ...[
    "...",
    "--",
    "\0",
    "é",
    "😀",
    "\\",
    "\\n",
    "key:",
    "a: b: c",
    "- - x",
    "user: hi",
    "<example>",
    "```",
    "# Title",
    "\n\n",
  ],
);
const line = fc.array(fc.oneof({ weight: 4, arbitrary: scraps }, fc.string({ maxLength: 8 })), { maxLength: 5 });
const text = fc
  .array(
    line.map((parts) => parts.join("")),
    { maxLength: 12 },
  )
  .map((lines) => lines.join("\n"));
/** No line of it ends a header. */
const header = text.map((value) =>
  value
    .split(/\r\n?|\n/)
    .filter((one) => !endOfHeader.test(one))
    .join("\n"),
);
const body = text.map((value) => `${mark}\n${value}\n${mark} description: ${mark}`);

const origin: SkillOrigin = {
  source: "project",
  plugin: null,
  file: "/x/SKILL.md",
  folder: "/x",
  text: null,
  fallbackName: "x",
  headerless: false,
};

export const headerProperties: Property[] = [
  {
    // The description is the one exception, and only where the header has none: public collections hold many skills that
    // describe themselves nowhere else, and what a description says decides nothing but whether the skill is read. Whatever
    // decides what a skill is called, needs and may do comes from the header alone.
    name: "a page with a header is read in no time, and its text gets into no field but a missing description",
    property: fc.property(
      fc.tuple(header, body).map(([top, rest]) => `---\n${top}\n---\n${rest}`),
      (page) => {
        const { skill, diagnostics } = timed(() => parseSkill(page, origin));
        if (skill === null) return !JSON.stringify(diagnostics).includes(mark);
        const { description, ...fields } = skill;
        const isTaken = diagnostics.some(
          (one) => one.level === "warning" && one.message.includes("taken from the text"),
        );
        return !JSON.stringify(fields).includes(mark) && (isTaken || !description.includes(mark));
      },
    ),
  },
  {
    name: "a page without a header is a skill by its place alone, whatever its text says",
    property: fc.property(body, (page) => {
      const { skill, diagnostics } = timed(() => parseSkill(page, origin));
      if (skill === null) return diagnostics.some((one) => one.level === "error");
      const { name, allowedTools, agent, forkAgent } = skill;
      const isPlain = allowedTools.length === 0 && agent === null && forkAgent === null;
      return name === "x" && isPlain && diagnostics.some((one) => one.code === "header");
    }),
  },
  {
    name: "a header without an end is put aside",
    property: fc.property(
      fc.tuple(header, header).map(([top, rest]) => `---\n${top}\n${mark}\n${rest}`),
      (page) => {
        const { skill, diagnostics } = timed(() => parseSkill(page, origin));
        return skill === null && diagnostics.some((one) => one.code === "quarantine");
      },
    ),
  },
  {
    name: "whatever a page is, reading it ends and says something",
    property: fc.property(fc.oneof(text, fc.string({ maxLength: 400 }), fc.string({ unit: "binary" })), (page) => {
      const { skill, diagnostics } = timed(() => parseSkill(page, origin));
      return skill !== null ? skill.name !== "" && skill.description !== "" : diagnostics.length > 0;
    }),
  },
  {
    name: "the quick reader reads exactly what YAML says, or nothing",
    property: fc.property(header, (yaml) => {
      const quick = timed(() => readQuickHeader(yaml));
      if (quick === null) return true;
      const { fields, problems } = readYaml(yaml, 0);
      return problems.length === 0 && isDeepStrictEqual(plain(quick.fields), plain(fields));
    }),
  },
];

function timed<T>(work: () => T): T {
  const start = performance.now();
  const result = work();
  const took = performance.now() - start;
  if (took > patienceMs) throw new Error(`took ${took.toFixed(0)} ms`);
  return result;
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
