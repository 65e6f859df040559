/**
 * Finds skill pages below a root. Uses synchronous calls, which cost a tenth of asynchronous ones, in short slices, so
 * that a large tree does not block other work.
 */
import { type Dirent, readdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { basename, join } from "node:path";
import type { SkillDiagnostic } from "@aegis/contract/skill.ts";
import { isErrno, isInside } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { Slices } from "@aegis/lib/slices.ts";
import type { SkillRoot } from "./places.ts";

export type FoundPage = {
  root: SkillRoot;
  file: string;
  /** Null for a single page. */
  folder: string | null;
  /** Changes with the file. */
  stamp: string;
  changedAt: number;
};

export type Scan = {
  pages: FoundPage[];
  diagnostics: SkillDiagnostic[];
  /** Every path whose change requires another scan, with its stamp. */
  seen: Map<string, string>;
};

export type ScanLimits = { pages: number; entries: number; depth: number };

export const scanLimits: ScanLimits = { pages: 10_000, entries: 100_000, depth: 6 };

/** How deep nested skills are searched inside a skill. */
const nestingDepth = 2;

/** Never throws because of what is on disk. */
export async function scanRoots(
  roots: readonly SkillRoot[],
  limits: ScanLimits,
  slices: Slices,
  signal: AbortSignal,
): Promise<Scan> {
  const scan: Scan = { pages: [], diagnostics: [], seen: new Map() };
  for (const root of roots) {
    const walk = new Walk(root, limits, scan);
    for (const _ of walk.run()) {
      await slices.rest();
      signal.throwIfAborted();
    }
  }
  return scan;
}

/** Returns true if anything that a scan saw has changed. */
export async function isOutdated(seen: ReadonlyMap<string, string>, slices: Slices): Promise<boolean> {
  let count = 0;
  for (const [path, stamp] of seen) {
    if (stampAt(path) !== stamp) return true;
    if (++count % 64 === 0) await slices.rest();
  }
  return false;
}

/** The stamp of a path: unchanged as long as its content is. */
export function stampAt(path: string): string {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat === undefined ? "none" : stampOf(stat);
  } catch (error) {
    return `error ${isErrno(error) ? error.code : ""}`;
  }
}

function stampOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${ino}:${size}:${mtimeMs}:${ctimeMs}`;
}

class Walk {
  readonly #root: SkillRoot;
  readonly #limits: ScanLimits;
  readonly #scan: Scan;
  #real = "";
  #entries = 0;
  #pages = 0;
  #full = false;

  constructor(root: SkillRoot, limits: ScanLimits, scan: Scan) {
    this.#root = root;
    this.#limits = limits;
    this.#scan = scan;
  }

  *run(): Generator<void> {
    const { folder } = this.#root;
    this.#scan.seen.set(folder, stampAt(folder));
    try {
      this.#real = realpathSync(folder);
    } catch (error) {
      if (!isErrno(error, "ENOENT", "ENOTDIR")) this.#note("error", "unreadable", folder, unreadable(error));
      return;
    }
    yield* this.#folder(folder, 0);
  }

  *#folder(folder: string, depth: number): Generator<void> {
    yield;
    // Only the page matters in a skill's folder, so the folder needs no stamp.
    if (depth > 0) {
      const inside = this.#entriesOf(folder);
      if (inside?.some(({ name }) => pageName.test(name)) && this.#isSkill(folder, inside)) return;
    }
    const entries = this.#list(folder);
    if (entries === null || (depth === 0 && this.#isSkill(folder, entries))) return;
    const flat = this.#root.flat && depth === 0;
    for (const entry of entries) {
      if (this.#full) return;
      const path = join(folder, entry.name);
      if (flat && isPage(entry.name) && !entry.isDirectory()) this.#page(path, null, entry.isSymbolicLink());
      else if (depth === 0 && isPage(entry.name) && !entry.isDirectory())
        this.#note("warning", "name", path, "is not read: a skill in this folder is a folder with a SKILL.md");
      else if (entry.isSymbolicLink()) this.#linked(path);
      else if (!entry.isDirectory()) continue;
      else if (depth < this.#limits.depth) yield* this.#folder(path, depth + 1);
      else this.#note("warning", "depth", path, `is not read: it is more than ${this.#limits.depth} folders deep`);
    }
  }

  /** Skills inside a skill are ignored; a diagnostic tells the author. */
  #nested(folder: string, entries: readonly Dirent[], inside = folder, depth = 0): void {
    for (const entry of entries) {
      if (!entry.isDirectory() || resourceFolders.has(entry.name.toLowerCase())) continue;
      const inner = join(inside, entry.name);
      const below = this.#peek(inner);
      const page = below.find(({ name }) => mainPage.test(name));
      if (page !== undefined) {
        const message = `is inside the skill ${basename(folder)} and is not a separate skill; move it beside that one`;
        this.#note("warning", "nesting", join(inner, page.name), message);
      } else if (depth < nestingDepth) this.#nested(folder, below, inner, depth + 1);
    }
  }

  #peek(folder: string): Dirent[] {
    try {
      return readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !name.startsWith("."));
    } catch {
      return [];
    }
  }

  /** A page in the folder makes the whole folder one skill. */
  #isSkill(folder: string, entries: readonly Dirent[]): boolean {
    const pages = entries.filter((entry) => mainPage.test(entry.name) || this.#isOnlyPage(folder, entry, entries));
    const [page, ...more] = pages.sort((a, b) => rankOf(a.name) - rankOf(b.name));
    if (page === undefined) return false;
    const file = join(folder, page.name);
    for (const other of more)
      this.#note("warning", "collision", join(folder, other.name), `${page.name} beside it is taken instead`);
    if (!page.isDirectory()) {
      this.#page(file, folder, page.isSymbolicLink());
      this.#nested(folder, entries);
    } else this.#note("error", "unreadable", file, "expected a file, found a folder");
    return !page.isDirectory();
  }

  /** `SKILLS.md` is either a misnamed skill page or an index of the skills in the folders beside it. */
  #isOnlyPage(folder: string, page: Dirent, entries: readonly Dirent[]): boolean {
    if (!/^skills\.md$/i.test(page.name) || entries.some((entry) => mainPage.test(entry.name))) return false;
    const others = entries.filter((entry) => entry.isDirectory() && !resourceFolders.has(entry.name.toLowerCase()));
    const path = join(folder, page.name);
    if (others.length > 0 || this.#root.folder === folder) {
      this.#note("warning", "name", path, "is treated as an index, not as a skill: a skill's page is called SKILL.md");
      return false;
    }
    this.#note("warning", "name", path, "expected SKILL.md; it is taken as the skill's page");
    return true;
  }

  /** A link may lead anywhere, provided that it leads to a skill: linking one copy from several places is common. */
  #linked(path: string): void {
    if (!this.#isFolder(path)) return;
    const entries = this.#list(path);
    if (entries === null || this.#isSkill(path, entries) || this.#inRoot(path)) return;
    this.#note("warning", "containment", path, "leads out of the folder and to no skill; it is not followed");
  }

  #isFolder(link: string): boolean {
    try {
      return statSync(link).isDirectory();
    } catch (error) {
      const isGone = isErrno(error, "ENOENT", "ENOTDIR");
      const message = isGone ? "is a link to something that does not exist" : unreadable(error);
      this.#note("warning", "unreadable", link, message);
      return false;
    }
  }

  #inRoot(path: string): boolean {
    try {
      return isInside(this.#real, realpathSync(path));
    } catch {
      return false;
    }
  }

  #page(file: string, folder: string | null, linked: boolean): void {
    if (this.#pages >= this.#limits.pages) {
      this.#stop(`${this.#limits.pages} skills`);
      return;
    }
    try {
      const stat = statSync(file);
      const stamp = stampOf(stat);
      this.#scan.seen.set(file, stamp);
      if (linked && !isInside(realpathSync(folder ?? this.#root.folder), realpathSync(file))) {
        this.#note("error", "containment", file, "is a link that leads out of its folder; it is not read");
      } else if (!stat.isFile()) {
        this.#note("error", "unreadable", file, "expected a file, found something else");
      } else {
        this.#pages += 1;
        const changedAt = Math.max(stat.mtimeMs, stat.ctimeMs);
        this.#scan.pages.push({ root: this.#root, file, folder, stamp, changedAt });
      }
    } catch (error) {
      this.#scan.seen.set(file, "none");
      this.#note("error", "unreadable", file, unreadable(error));
    }
  }

  /** Takes the stamp first, so that a change in between is noticed by the next check. */
  #list(folder: string): Dirent[] | null {
    this.#scan.seen.set(folder, stampAt(folder));
    return this.#entriesOf(folder);
  }

  #entriesOf(folder: string): Dirent[] | null {
    try {
      const entries = readdirSync(folder, { withFileTypes: true });
      this.#entries += entries.length;
      if (this.#entries > this.#limits.entries) {
        this.#stop(`${this.#limits.entries} files and folders`);
        return null;
      }
      const kept = entries.filter(({ name }) => !name.startsWith(".") && name !== "node_modules");
      return kept.sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch (error) {
      if (!isErrno(error, "ENOENT", "ENOTDIR")) this.#note("error", "unreadable", folder, unreadable(error));
      return null;
    }
  }

  #stop(limit: string): void {
    if (this.#full) return;
    this.#full = true;
    this.#note("error", "cap", this.#root.folder, `expected at most ${limit}; what comes after them is not read`);
  }

  #note(level: SkillDiagnostic["level"], code: string, file: string, message: string): void {
    this.#scan.diagnostics.push({ level, code, skill: null, file, line: null, message });
  }
}

function unreadable(error: unknown): string {
  return `cannot be read: ${errorText(error)}`;
}

/** In order of preference. */
const mainPages = ["SKILL.md", "skill.md", "Skill.md"];

const mainPage = /^skill\.md$/i;

/** The page, including common misspellings. */
const pageName = /^skills?\.md$/i;

/** Folders with a skill's resources. */
const resourceFolders: ReadonlySet<string> = new Set([
  ...[
    "references",
    "reference",
    "resources",
    "scripts",
    "assets",
    "templates",
    "examples",
    "docs",
    "data",
    "lib",
    "src",
  ],
  ...["test", "tests", "images", "fonts", "bin", "config", "agents", "commands", "hooks", "evals", "prompts", "rules"],
]);

function rankOf(name: string): number {
  const rank = mainPages.indexOf(name);
  return rank === -1 ? mainPages.length : rank;
}

function isPage(name: string): boolean {
  return (
    /\.md$/i.test(name) && !/^(?:readme|changelog|license|contributing|agents|claude|gemini|skills)\.md$/i.test(name)
  );
}
