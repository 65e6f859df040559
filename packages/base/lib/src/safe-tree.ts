/** Copies third-party folders under the same rules as archives, and hashes the content of a folder. */
import { createHash, type Hash } from "node:crypto";
import { constants, type Dirent } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, readlink, realpath, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { ifUnreadable, isErrno, isInside, reachableEntries } from "./files.ts";
import { createTreeGuard, defaultTreeLimits, type TreeGuard, type TreeLimits, TreeRefused } from "./tree-rules.ts";

export type CopyOptions = {
  limits?: Partial<TreeLimits>;
  /** Names of folders and files to skip at any depth. */
  skip?: readonly string[];
  signal?: AbortSignal;
};

/**
 * Copies a folder into `target`, which must exist and be empty. A link to a file inside the folder becomes a copy of
 * that file. Any other link, a device, a pipe or a socket is refused. Throws `TreeRefused`.
 */
export async function copyTree(
  source: string,
  target: string,
  options: CopyOptions = {},
): Promise<{ files: number; bytes: number }> {
  const limits = { ...defaultTreeLimits, ...options.limits };
  const guard = createTreeGuard(limits);
  const root = await realpath(source);
  if (!(await stat(root)).isDirectory()) throw new TreeRefused("not_a_tree", null, `${source} is not a folder`);
  const walk: Walk = { root, target, guard, skip: new Set(options.skip), signal: options.signal };
  await refuseTooMany(walk, limits.files);
  await copyFolder(walk, "");
  return { files: guard.files, bytes: guard.bytes };
}

export type TreeHashOptions = {
  /** Names of folders and files to skip at any depth. */
  skip?: readonly string[];
  /** Returns true for files to skip. Paths use `/`. */
  ignore?: (path: string) => boolean;
};

/**
 * Returns a SHA-256 over the sorted relative paths, the executable bits and the contents. A link is hashed by its
 * target path and never followed. Empty folders are ignored.
 */
export async function treeHash(dir: string, options: TreeHashOptions = {}): Promise<string> {
  const hash = createHash("sha256");
  const skip = new Set(options.skip);
  const paths = await listTree(dir, skip);
  for (const path of paths) if (options.ignore?.(path) !== true) await hashEntry(hash, dir, path);
  return `sha256:${hash.digest("hex")}`;
}

/** Lists every entry below `dir` that is not a folder, as paths with `/`, sorted by code point. */
export async function listTree(dir: string, skip: ReadonlySet<string> = new Set()): Promise<string[]> {
  const found: string[] = [];
  for await (const { path, entry } of entriesOf(dir, skip)) if (!entry.isDirectory()) found.push(path);
  return found.sort(byCodePoint);
}

/** All entries below `dir`, each folder before its contents. */
async function* entriesOf(dir: string, skip: ReadonlySet<string>): AsyncGenerator<{ path: string; entry: Dirent }> {
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const path = join(dir, folder);
    for (const entry of await (folder === "" ? readdir(path, { withFileTypes: true }) : reachableEntries(path))) {
      if (skip.has(entry.name)) continue;
      const below = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) folders.push(below);
      yield { path: below, entry };
    }
  }
}

type Walk = {
  root: string;
  target: string;
  guard: TreeGuard;
  skip: ReadonlySet<string>;
  signal: AbortSignal | undefined;
};

/** Counts names only and stops when there are too many, before anything is copied. */
async function refuseTooMany({ root, skip, signal }: Walk, most: number): Promise<void> {
  let files = 0;
  for await (const { entry } of entriesOf(root, skip)) {
    signal?.throwIfAborted();
    if (!entry.isDirectory()) files++;
    if (files > most) throw new TreeRefused("too_many", null, `more than ${most} files`);
  }
}

async function copyFolder(walk: Walk, folder: string): Promise<void> {
  const entries = await readdir(join(walk.root, folder), { withFileTypes: true });
  for (const entry of entries.sort((a, b) => byCodePoint(a.name, b.name))) {
    walk.signal?.throwIfAborted();
    if (walk.skip.has(entry.name)) continue;
    await copyEntry(walk, folder === "" ? entry.name : `${folder}/${entry.name}`, entry);
  }
}

async function copyEntry(walk: Walk, path: string, entry: Dirent): Promise<void> {
  if (entry.isDirectory()) {
    walk.guard.folder(path);
    return copyFolder(walk, path);
  }
  if (entry.isSymbolicLink()) return copyFile(walk, path, await linkTarget(walk.root, path));
  if (entry.isFile()) return copyFile(walk, path, join(walk.root, path));
  throw new TreeRefused("special_file", path, "is neither a file nor a folder");
}

async function linkTarget(root: string, path: string): Promise<string> {
  const real = await realpath(join(root, path)).catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ELOOP", "ENOTDIR")) throw new TreeRefused("link", path, "is a link to nothing");
    throw error;
  });
  if (!isInside(root, real)) throw new TreeRefused("link", path, "is a link out of its folder");
  if (!(await lstat(real)).isFile()) throw new TreeRefused("link", path, "is a link to a folder");
  // A link into a skipped folder would include that folder's content under another name.
  if (relative(root, real).split(sep).includes(".git")) throw new TreeRefused("link", path, "is a link into .git");
  return real;
}

async function copyFile(walk: Walk, path: string, from: string): Promise<void> {
  await using source = await openRegular(from, path);
  const { size, mode } = await source.stat();
  const to = join(walk.target, ...walk.guard.file(path, size));
  await mkdir(dirname(to), { recursive: true });
  await using copy = await open(to, "wx", (mode & 0o111) === 0 ? 0o644 : 0o755);
  // Reads no more than the size that was checked, because the file may be growing.
  for (let at = 0; at < size; ) {
    const { bytesRead, buffer } = await source.read(Buffer.allocUnsafe(Math.min(size - at, chunkBytes)), 0, null, at);
    if (bytesRead === 0) break;
    await copy.write(buffer, 0, bytesRead, at);
    at += bytesRead;
  }
  await copy.sync();
}

/**
 * Opens without blocking and without following links, then checks the type, because the file may have changed since the
 * listing.
 */
async function openRegular(file: string, path: string): Promise<FileHandle> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw new TreeRefused("special_file", path, "is no plain file any more");
}

async function hashEntry(hash: Hash, dir: string, path: string): Promise<void> {
  const file = join(dir, path);
  const info = await lstat(file);
  if (info.isSymbolicLink()) return addField(hash, "link", path, Buffer.from(await readlink(file)));
  if (!info.isFile()) return addField(hash, "other", path, Buffer.alloc(0));
  await using handle = await openRegular(file, path).catch(ifUnreadable(null));
  if (handle === null) return addField(hash, "unreadable", path, Buffer.alloc(0));
  const content = await handle.readFile();
  addField(hash, (info.mode & 0o111) === 0 ? "file" : "program", path, content);
}

/** Writes the length before each field, so that different trees cannot produce the same bytes. */
function addField(hash: Hash, kind: string, path: string, content: Uint8Array): void {
  hash.update(`${kind} ${Buffer.byteLength(path)} ${content.byteLength}\n${path}\n`);
  hash.update(content);
}

function byCodePoint(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const chunkBytes = 1 << 20;
