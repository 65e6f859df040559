/**
 * Finds the pages of skills below a root. Looks with synchronous calls, which cost a tenth of the others, in short
 * slices, so that nothing else has to wait for a large tree.
 */
import { type Dirent, readdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { basename, join } from "node:path";
import type { SkillDiagnostic } from "../../contract/skill.ts";
import { isErrno, isInside } from "../../lib/files.ts";
import { errorText } from "../../lib/log.ts";
import type { SkillRoot } from "./places.ts";

export type FoundPage = {
  root: SkillRoot;
  file: string;
  /** Null for a single page. */
  folder: string | null;
  /** Changes with the file. */
  stamp: string;
  size: number;
  changedAt: number;
};

export type Scan = {
  pages: FoundPage[];
  diagnostics: SkillDiagnostic[];
  /** Everything whose change makes another scan necessary, with the state it was found in. */
  seen: Map<string, string>;
};

export type ScanLimits = { pages: number; entries: number; depth: number };

export const scanLimits: ScanLimits = { pages: 10_000, entries: 100_000, depth: 6 };

const sliceMs = 8;

/** Lets others have their turn when a slice is over. */
export class Slices {
  #until = performance.now() + sliceMs;

  async rest(): Promise<void> {
    if (performance.now() < this.#until) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#until = performance.now() + sliceMs;
  }
}

/** Never throws for what the disk holds. */
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

/** True when anything a scan saw is not as it was. */
export async function isOutdated(seen: ReadonlyMap<string, string>, slices: Slices): Promise<boolean> {
  let count = 0;
  for (const [path, stamp] of seen) {
    if (stampAt(path) !== stamp) return true;
    if (++count % 64 === 0) await slices.rest();
  }
  return false;
}

/** The state of a path: the same as long as its content is. */
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
    const entries = this.#list(folder);
    if (entries === null) return;
    if (this.#isSkill(folder, entries)) {
      // Nothing else in it matters, so the page alone is looked at from now on.
      if (depth > 0) this.#scan.seen.delete(folder);
      return;
    }
    const flat = this.#root.flat && depth === 0;
    for (const entry of entries) {
      if (this.#full) return;
      const path = join(folder, entry.name);
      if (flat && isPage(entry.name) && !entry.isDirectory()) this.#page(path, null, entry.isSymbolicLink());
      else if (entry.isSymbolicLink()) this.#linked(path);
      else if (entry.isDirectory() && depth < this.#limits.depth) yield* this.#folder(path, depth + 1);
    }
  }

  /** A page in the folder makes the whole folder one skill. */
  #isSkill(folder: string, entries: readonly Dirent[]): boolean {
    const pages = entries.filter((entry) => isMainPage(entry.name));
    const [page, ...more] = pages.sort((a, b) => rankOf(a.name) - rankOf(b.name));
    if (page === undefined) return false;
    const file = join(folder, page.name);
    for (const other of more)
      this.#note("warning", "collision", join(folder, other.name), `${page.name} beside it is taken instead`);
    if (!page.isDirectory()) this.#page(file, folder, page.isSymbolicLink());
    else this.#note("error", "unreadable", file, "expected a file, found a folder");
    return !page.isDirectory();
  }

  /** A link may lead anywhere as long as it leads to a skill: one copy linked from several places is usual. */
  #linked(path: string): void {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined || !stat.isDirectory()) return;
    const entries = this.#list(path);
    if (entries === null || this.#isSkill(path, entries) || this.#inRoot(path)) return;
    this.#note("warning", "containment", path, "leads out of the folder and to no skill; it is not followed");
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
        this.#scan.pages.push({ root: this.#root, file, folder, stamp, size: stat.size, changedAt });
      }
    } catch (error) {
      this.#scan.seen.set(file, "none");
      this.#note("error", "unreadable", file, unreadable(error));
    }
  }

  #list(folder: string): Dirent[] | null {
    try {
      // The stamp comes first: what changes in between is then seen the next time.
      this.#scan.seen.set(folder, stampAt(folder));
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

/** In the order of preference. */
const mainPages = ["SKILL.md", "skill.md", "Skill.md"];

function isMainPage(name: string): boolean {
  return /^skills?\.md$/i.test(name);
}

function rankOf(name: string): number {
  const rank = mainPages.indexOf(name);
  return rank === -1 ? mainPages.length : rank;
}

function isPage(name: string): boolean {
  return /\.md$/i.test(name) && !/^(?:readme|changelog|license|contributing)\.md$/i.test(basename(name));
}

function unreadable(error: unknown): string {
  return `cannot be read: ${errorText(error)}`;
}
