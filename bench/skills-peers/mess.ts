/** Pages with the slips that people make. Each has a header that a reader can make sense of. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

export type Messy = { kind: string; file: string; text: string; description: string };

const page = (header: string) => `---\n${header}\n---\n\nText.\n`;

const slips: readonly (Pick<Messy, "kind" | "text" | "description"> & { file?: string })[] = [
  {
    kind: "colon in a value",
    text: page("name: NAME\ndescription: Use when: it fits"),
    description: "Use when: it fits",
  },
  {
    kind: "hash behind quotes",
    text: page('name: NAME\ndescription: "Quoted" and more'),
    description: '"Quoted" and more',
  },
  { kind: "asterisk", text: page("name: NAME\ndescription: *Always* use it"), description: "*Always* use it" },
  {
    kind: "flow-looking hint",
    text: page("name: NAME\ndescription: Fine\nargument-hint: [a] | [b]"),
    description: "Fine",
  },
  {
    kind: "list on one line",
    text: page("name: NAME\ndescription: Fine\nallowed-tools: - Read - Edit"),
    description: "Fine",
  },
  {
    kind: "lines like fields",
    text: page("name: NAME\ndescription: Use: it\nuser: a: b\nlicense: MIT"),
    description: "Use: it",
  },
  { kind: "tab", text: page("name: NAME\ndescription: >\n\tFine"), description: "Fine" },
  {
    kind: "unfinished merge",
    text: page("name: NAME\n<<<<<<< a\ndescription: Fine\n=======\ndescription: x\n>>>>>>> b"),
    description: "Fine",
  },
  { kind: "dashes in a value", text: page("name: NAME\ndescription: one --- two"), description: "one --- two" },
  { kind: "byte order mark", text: `\uFEFF${page("name: NAME\ndescription: Fine")}`, description: "Fine" },
  {
    kind: "Windows line ends",
    text: page("name: NAME\ndescription: Fine").replaceAll("\n", "\r\n"),
    description: "Fine",
  },
  { kind: "blank line above", text: `\n${page("name: NAME\ndescription: Fine")}`, description: "Fine" },
  { kind: "other case", file: "Skill.md", text: page("name: NAME\ndescription: Fine"), description: "Fine" },
  { kind: "no name", text: page("description: Fine"), description: "Fine" },
  { kind: "field twice", text: page("name: NAME\nlicense: A\nlicense: B\ndescription: Fine"), description: "Fine" },
  {
    kind: "JSON as people write it",
    text: page(`name: NAME\ndescription: Fine\nmetadata: "{openclaw:{os:['linux',],},}"`),
    description: "Fine",
  },
];

/** One folder for each slip. */
export async function writeMess(folder: string): Promise<Messy[]> {
  const written: Messy[] = [];
  for (const [index, { kind, text, description, file = "SKILL.md" }] of slips.entries()) {
    const name = `messy-${index}`;
    await mkdir(join(folder, name), { recursive: true });
    const path = join(folder, name, file);
    await writeFile(path, text.replaceAll("NAME", name));
    written.push({ kind, file: path, text, description });
  }
  return written;
}
