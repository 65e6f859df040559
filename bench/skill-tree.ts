/** Folders of skills as they are found in the wild: most of them well-formed, some with the usual slips. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

const verbs = ["review", "deploy", "format", "translate", "sum up", "lint", "profile", "draw", "convert", "watch"];
const things = [
  "invoices",
  "clusters",
  "pages",
  "spreadsheets",
  "podcasts",
  "dashboards",
  "schemas",
  "calendars",
  "logs",
];

/** Of a thousand headers, about as many need a repair as do in public collections. */
const slips = 23;

/** Gives the pages. */
export async function writeSkills(folder: string, count: number): Promise<string[]> {
  const paths: string[] = [];
  for (let index = 0; index < count; index++) {
    const name = `skill-${index}`;
    await mkdir(join(folder, name), { recursive: true });
    const path = join(folder, name, "SKILL.md");
    await writeFile(
      path,
      `---\n${headerOf(index, name)}\n---\n\n# ${name}\n\n${"Do this, then that, and say so.\n".repeat(220)}`,
    );
    paths.push(path);
  }
  return paths;
}

function headerOf(index: number, name: string): string {
  const verb = verbs[index % verbs.length];
  const thing = things[index % things.length];
  const text = `How to ${verb} ${thing} of part ${index}, when a person asks for it or a file of that kind changes.`;
  const description = index % 1000 < slips ? `Use when: ${text}` : index % 4 === 0 ? JSON.stringify(text) : text;
  return [`name: ${name}`, `description: ${description}`, ...metadataOf(index)].join("\n");
}

function metadataOf(index: number): string[] {
  if (index % 4 === 1)
    return [`metadata: {"openclaw":{"emoji":"x","requires":{"bins":["git"]},"install":[{"id":"b","kind":"brew"}]}}`];
  if (index % 4 === 2) return ["license: MIT", "metadata:", "  clawdbot:", "    requires:", "      bins: [git]"];
  return index % 4 === 3 ? ["allowed-tools: Bash(git:*), Read", "license: MIT"] : [];
}
