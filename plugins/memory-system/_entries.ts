/** The memory: Markdown files that people can read and edit. */
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

export const types = ["user", "feedback", "fact", "reference"] as const;
export type EntryType = (typeof types)[number];

/** `tool` and `peer`: the words come from a third party, so a person reviews them before agents rely on them. */
export const sources = ["user", "agent", "tool", "peer", "dream"] as const;
export type Source = (typeof sources)[number];

export type Entry = {
  slug: string;
  type: EntryType;
  name: string;
  description: string;
  source: Source;
  /** Waits for a person's review; agents neither see it nor find it. */
  held: boolean;
  created: string;
  updated: string;
  content: string;
};

export type NewEntry = Pick<Entry, "type" | "name" | "description" | "content" | "source">;

/** Longer entries would crowd out the others where they are shown. */
const longest = { name: 120, description: 500, content: 20_000 };
const headed = /^---\n([\s\S]*?)\n---\n?([\s\S]*)$/;

export class Memory {
  readonly dir: string;

  constructor(projectRoot: string) {
    this.dir = join(projectRoot, ".aegis", "memory");
  }

  /** Returns a standalone file such as SOUL.md, or an empty string if it does not exist. */
  async text(name: "SOUL.md" | "USER.md"): Promise<string> {
    const found = await readOrNull(join(this.dir, name));
    return (found ?? "").replace(/<!--[\s\S]*?-->/g, "").trim();
  }

  /** Most recently changed first. Unreadable entries are skipped. */
  async list(): Promise<Entry[]> {
    const names = await readdir(this.#entries()).catch(() => []);
    const entries = await Promise.all(names.filter((name) => name.endsWith(".md")).map((name) => this.#read(name)));
    const whole = entries.filter((entry) => entry !== null);
    return whole.sort((a, b) => b.updated.localeCompare(a.updated) || a.slug.localeCompare(b.slug));
  }

  /** Entries that agents may rely on. */
  async active(): Promise<Entry[]> {
    return (await this.list()).filter((entry) => !entry.held);
  }

  async get(slug: string): Promise<Entry> {
    const entries = await this.list();
    const found = entries.find((entry) => entry.slug === slug);
    if (found) return found;
    const like = entries.filter((entry) => entry.slug.includes(slug) || slug.includes(entry.slug));
    const near = like.length === 0 ? "" : `; there is: ${like.map((entry) => entry.slug).join(", ")}`;
    throw new Error(`nothing is remembered as "${slug}"${near}`);
  }

  /** Throws if an entry with that name and type exists. */
  async add(entry: NewEntry): Promise<Entry> {
    checkTexts(entry);
    const slug = slugOf(entry);
    if ((await readOrNull(this.#path(slug))) !== null)
      throw new Error(`"${slug}" is remembered already; use memory_replace to change it`);
    const now = new Date().toISOString();
    const held = entry.source === "tool" || entry.source === "peer";
    return this.#write({ ...entry, slug, held, created: now, updated: now });
  }

  async replace(
    slug: string,
    change: Partial<Pick<Entry, "description" | "content" | "source" | "held">>,
  ): Promise<Entry> {
    const before = await this.get(slug);
    const after = { ...before, ...change };
    checkTexts(after);
    return this.#write({ ...after, updated: new Date().toISOString() });
  }

  async remove(slug: string): Promise<Entry> {
    const entry = await this.get(slug);
    await rm(this.#path(slug), { force: true });
    await this.writeIndex();
    return entry;
  }

  /** The index is generated from the entries, so it cannot disagree with them. */
  async writeIndex(): Promise<void> {
    const entries = await this.list();
    const line = ({ slug, name, description }: Entry) => `- [${name}](entries/${slug}.md) — ${description}`;
    const held = entries.filter((entry) => entry.held);
    const review = held.length === 0 ? [] : ["", "## Held for review", "", ...held.map(line)];
    const index = ["# Memory index", "", "## Index", "", ...entries.filter((one) => !one.held).map(line), ...review];
    await this.#replaceFile(join(this.dir, "MEMORY.md"), `${index.join("\n")}\n`);
  }

  async writeDream(day: string, text: string): Promise<string> {
    const path = join(this.dir, "dreams", `dream-${day}.md`);
    await this.#replaceFile(path, text);
    return path;
  }

  async #write(entry: Entry): Promise<Entry> {
    const { slug, content, ...fields } = entry;
    // JSON is valid YAML, so any text is safe in a header.
    const header = Object.entries(fields).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
    await this.#replaceFile(this.#path(slug), `---\n${header.join("\n")}\n---\n\n${content.trim()}\n`);
    await this.writeIndex();
    return entry;
  }

  async #read(name: string): Promise<Entry | null> {
    const path = join(this.#entries(), name);
    const match = headed.exec((await readOrNull(path))?.replaceAll("\r\n", "\n") ?? "");
    if (!match) return null;
    const fields = new Map((match[1] ?? "").split("\n").map(field));
    const type = types.find((one) => one === fields.get("type")) ?? "fact";
    const text = (key: string) => String(fields.get(key) ?? "");
    const changed = (await stat(path)).mtime.toISOString();
    return {
      slug: name.slice(0, -".md".length),
      type,
      name: text("name") || name.slice(0, -".md".length),
      description: text("description"),
      source: sources.find((one) => one === fields.get("source")) ?? "user",
      held: fields.get("held") === true,
      created: text("created") || changed,
      updated: text("updated") || changed,
      content: (match[2] ?? "").trim(),
    };
  }

  async #replaceFile(path: string, text: string): Promise<void> {
    await mkdir(join(path, ".."), { recursive: true });
    // An atomic rename: readers, and a restart after a crash, see the old text or the new one.
    const draft = `${path}.${process.pid}-${Math.random().toString(36).slice(2)}.tmp`;
    await writeFile(draft, text);
    await rename(draft, path);
  }

  #entries(): string {
    return join(this.dir, "entries");
  }

  #path(slug: string): string {
    return join(this.#entries(), `${slug}.md`);
  }
}

export function slugOf({ type, name }: Pick<Entry, "type" | "name">): string {
  const kebab = name
    .toLowerCase()
    .normalize("NFKD")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 80);
  if (kebab === "") throw new Error("the name needs at least one letter or digit");
  return `${type}_${kebab}`;
}

function checkTexts(entry: Pick<Entry, "name" | "description" | "content">): void {
  for (const key of ["name", "description", "content"] as const) {
    if (entry[key].trim() === "") throw new Error(`${key} is empty`);
    if (entry[key].length > longest[key])
      throw new Error(`${key} has ${entry[key].length} characters; at most ${longest[key]} are kept`);
  }
  if (/[\r\n]/.test(entry.name + entry.description)) throw new Error("name and description take one line each");
}

/** Parses `key: value`; the value is JSON or plain text. */
function field(line: string): [string, unknown] {
  const colon = line.indexOf(":");
  const raw = line.slice(colon + 1).trim();
  try {
    return [line.slice(0, colon).trim(), JSON.parse(raw)];
  } catch {
    return [line.slice(0, colon).trim(), raw];
  }
}

async function readOrNull(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return null;
    throw error;
  }
}
