/**
 * Writes a tree object with the files of a working tree: tracked and untracked, not ignored. Uses its own index, which
 * is kept between snapshots, so the user's index, HEAD and files stay untouched.
 */
import { copyFile, lstat, mkdir, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { exists, isErrno } from "../files.ts";
import { changedRepositories, linkedRepositories } from "./nested.ts";
import type { Repository } from "./repository.ts";
import { fields, type GitOptions, type GitResult, GitRunError, line, nulSeparated, shown } from "./run.ts";

export type Snapshot = {
  tree: string;
  /** The commit that HEAD names; null on a branch without a commit. */
  head: string | null;
  /** Untracked files that are too large for a snapshot. */
  skipped: { path: string; size: number }[];
  /** Submodules with uncommitted changes, which a tree cannot contain. */
  dirty_submodules: string[];
  /** Filters of the repository that Aegis did not run. */
  filters_off: readonly string[];
};

export type SnapshotOptions = {
  /** Distinguishes the indexes of several projects in one repository. */
  name: string;
  signal?: AbortSignal;
  timeoutMs?: number;
};

/** Untracked files above this size are listed instead of stored. */
export const largestUntracked = 10 << 20;

const defaultTimeoutMs = 60_000;

/** Not safe for parallel calls with the same name in one working tree. Throws `GitRunError`; there is then no tree. */
export async function takeSnapshot(repository: Repository, options: SnapshotOptions): Promise<Snapshot> {
  const folder = join(repository.gitDir, "aegis");
  const index = join(folder, `index-${options.name}`);
  await mkdir(folder, { recursive: true });
  // The lock of a killed git: only this daemon uses this index, one call at a time.
  await rm(`${index}.lock`, { force: true });
  try {
    return await snapshotWith(repository, index, options);
  } catch (error) {
    if (!(error instanceof GitRunError) || error.problem !== "failed") throw error;
    // A crash may have left a damaged index. It is only a cache.
    await rm(index, { force: true });
    return await snapshotWith(repository, index, options);
  }
}

type Call = (args: readonly string[], more?: GitOptions) => Promise<GitResult>;

async function snapshotWith(repository: Repository, index: string, options: SnapshotOptions): Promise<Snapshot> {
  const { timeoutMs = defaultTimeoutMs } = options;
  const signal = options.signal === undefined ? {} : { signal: options.signal };
  const call: Call = (args, more = {}) =>
    repository.git(args, { timeoutMs, ...signal, ...more, env: { GIT_INDEX_FILE: index } });
  const isNew = await seed(join(repository.gitDir, "index"), index);
  if (isNew || repository.isSparse) await showHidden(repository.root, call);
  // With a lock, git keeps what it learned about unchanged files in the index, so that the next call does not read them.
  const status = parseStatus((await call(statusArgs, { locks: true })).stdout);
  const skipped = await tooLarge(repository.root, status.untracked);
  await update(call, status, new Set(skipped.map(({ field }) => field)));
  // Git checks entries with a recent time again when it writes the index, so this call also uses the overrides.
  const tree = line(await call(["write-tree"]));
  return {
    tree,
    head: status.head,
    skipped: skipped.map(({ field, size }) => ({ path: shown(field), size })),
    dirty_submodules: await dirtySubmodules(repository, call),
    filters_off: repository.filtersOff,
  };
}

/** Returns true if the index was copied now. A newer time would disable git's check for edits in the same second. */
async function seed(from: string, to: string): Promise<boolean> {
  if (await exists(to)) return false;
  try {
    const { mtimeMs } = await stat(from);
    await copyFile(from, to);
    const seconds = Math.floor(mtimeMs / 1000);
    await utimes(to, seconds, seconds);
  } catch (error) {
    // A new repository has no index.
    if (!isErrno(error, "ENOENT")) throw error;
  }
  return true;
}

/** `assume-unchanged` and `skip-worktree` hide edits of files that exist: clears them in the copied index. */
async function showHidden(root: string, call: Call): Promise<void> {
  const listed = fields((await call(["ls-files", "-v", "-z"])).stdout);
  const flagged: string[] = [];
  for (const entry of listed)
    if (/^[a-zS] /.test(entry) && (await sizeOf(root, entry.slice(2))) !== null) flagged.push(entry.slice(2));
  if (flagged.length === 0) return;
  const input = nulSeparated(flagged);
  for (const flag of ["--no-assume-unchanged", "--no-skip-worktree"])
    await call(["update-index", "-z", flag, "--stdin"], { input });
}

async function tooLarge(root: string, untracked: readonly string[]): Promise<{ field: string; size: number }[]> {
  const sizes = await Promise.all(
    untracked.map(async (field) => ({ field, size: field.endsWith("/") ? 0 : ((await sizeOf(root, field)) ?? 0) })),
  );
  return sizes.filter(({ size }) => size > largestUntracked);
}

/** Brings the index to the state of the files, without a second walk over the working tree. */
async function update(call: Call, { changed, gone, untracked }: WorkStatus, excluded: ReadonlySet<string>) {
  // Removed by name: the folder of a removed file may be a link now, and git does not look beyond links.
  if (gone.length > 0) await call(["update-index", "--force-remove", "-z", "--stdin"], { input: nulSeparated(gone) });
  const isNested = (field: string) => field.endsWith("/");
  const put = (list: readonly string[]) =>
    call(["update-index", "--add", "--remove", "--replace", "-z", "--stdin"], { input: nulSeparated(list) });
  const files = [...changed, ...untracked.filter((field) => !isNested(field) && !excluded.has(field))];
  if (files.length > 0) await put(files);
  for (const field of untracked.filter(isNested)) {
    try {
      await put([field.slice(0, -1)]);
    } catch (error) {
      // A nested repository without a commit has nothing that a tree can contain.
      if (!(error instanceof GitRunError) || error.problem !== "failed") throw error;
    }
  }
}

async function dirtySubmodules(repository: Repository, call: Call): Promise<string[]> {
  if ((await sizeOf(repository.root, ".gitmodules")) === null) return [];
  return changedRepositories(repository, await linkedRepositories(call));
}

async function sizeOf(root: string, field: string): Promise<number | null> {
  const path = Buffer.concat([Buffer.from(`${root}/`), Buffer.from(field, "latin1")]);
  return lstat(path).then(
    (found) => found.size,
    () => null,
  );
}

type WorkStatus = {
  /** The commit that HEAD names; null on a branch without a commit. */
  head: string | null;
  /** Paths of the index whose file or submodule differs. */
  changed: string[];
  /** Paths of the index without a file. */
  gone: string[];
  /** Untracked files. A nested repository ends with a slash. */
  untracked: string[];
};

/** One walk over the working tree. Does not look for uncommitted changes in submodules, which would start git in them. */
const statusArgs: readonly string[] = [
  ...["status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind"],
  ...["--untracked-files=all", "--no-renames", "--ignore-submodules=dirty"],
];

/** The number of fields before the path of a status record. */
const statusFields: Readonly<Record<string, number>> = { "1": 8, u: 10 };
const noFile = "000000";

/**
 * Reads the records of `git status --porcelain=v2 -z`. Paths have one character per byte, as `fields` returns them. Throws
 * for a record that these arguments do not cause.
 */
function parseStatus(output: Buffer): WorkStatus {
  const found: WorkStatus = { head: null, changed: [], gone: [], untracked: [] };
  for (const record of fields(output)) {
    const kind = record[0] ?? "";
    if (kind === "#") {
      const oid = /^# branch\.oid ([0-9a-f]+)$/.exec(record)?.[1];
      if (oid !== undefined) found.head = oid;
    } else if (kind === "?") found.untracked.push(record.slice(2));
    else {
      const count = statusFields[kind];
      if (count === undefined) throw new Error(`git status printed an unknown record: ${record.slice(0, 40)}`);
      const parts = record.split(" ");
      const path = parts.slice(count).join(" ");
      const inWork = parts[1]?.[1] ?? ".";
      if (kind === "1" && inWork === ".") continue;
      const isGone = kind === "1" ? inWork === "D" : parts[6] === noFile;
      (isGone ? found.gone : found.changed).push(path);
    }
  }
  return found;
}
