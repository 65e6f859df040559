/** Crash-safe file writes, and checks that paths stay inside their folder. */
import { randomBytes } from "node:crypto";
import { constants, type Dirent } from "node:fs";
import { access, lstat, mkdir, open, readdir, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";

/** Replaces a file atomically: writes a temporary file beside it, syncs it, renames it, and syncs the folder. */
export async function writeAtomic(
  path: string,
  data: string | Uint8Array,
  options: { mode?: number } = {},
): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`);
  try {
    await writeSynced(temporary, data, options.mode ?? 0o644);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Creates a file and waits until the disk has it. */
export async function writeSynced(path: string, data: string | Uint8Array, mode: number): Promise<void> {
  const file = await open(path, "wx", mode);
  try {
    await file.writeFile(data);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Creates a folder that only its owner can enter. */
export async function makePrivateDir(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}

/** Creates private folders below `base`, which must exist: a deleted parent is not recreated. */
export async function makePrivateDirsBelow(base: string, ...names: string[]): Promise<string> {
  let path = base;
  for (const name of names) {
    path = join(path, name);
    await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
      if (!isErrno(error, "EEXIST")) throw error;
    });
  }
  return path;
}

/**
 * Returns the real path of `path` below `root`, or null if it leaves `root` through `..`, an absolute path or a link. A
 * file that does not exist yet is checked by its nearest existing folder.
 */
export async function containedPath(root: string, path: string): Promise<string | null> {
  const realRoot = await realpath(root);
  const wanted = resolve(realRoot, path);
  const missing: string[] = [];
  for (let probe = wanted; ; probe = dirname(probe)) {
    try {
      const real = join(await realpath(probe), ...missing);
      return isInside(realRoot, real) ? real : null;
    } catch (error) {
      if (!isErrno(error, "ENOENT") || dirname(probe) === probe) return null;
      // A dangling link: a write would create the file at the link's target.
      if (await isLink(probe)) return null;
      missing.unshift(basename(probe));
    }
  }
}

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch {
    return false;
  }
}

/**
 * Returns the real path inside a folder with third-party content, such as a clone. Also returns null for paths inside
 * `.git`, which can contain anything that was ever pushed.
 */
export async function contentPath(root: string, path: string): Promise<string | null> {
  const real = await containedPath(root, path);
  if (real === null) return null;
  return relative(await realpath(root), real)
    .split(sep)
    .includes(".git")
    ? null
    : real;
}

export function isInside(root: string, path: string): boolean {
  const below = relative(root, path);
  return below === "" || (!isAbsolute(below) && below !== ".." && !below.startsWith(`..${sep}`));
}

/** Returns whether a path exists. Throws if the system cannot tell. */
export async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(ifMissing(null))) !== null;
}

/** For `catch`: returns the value if a file or folder does not exist, and throws any other error. */
export function ifMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return value;
    throw error;
  };
}

/**
 * Returns whether the system refused a path because of what is on disk: nothing is there, its links form a loop, its
 * name is too long, or this user may not read it. No program of this user can read such a path.
 */
export function isUnreadable(error: unknown): boolean {
  return isErrno(error, "ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG", "EACCES", "EPERM");
}

/** For `catch`: returns the value if a path is unreadable, and throws any other error. */
export function ifUnreadable<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isUnreadable(error)) return value;
    throw error;
  };
}

/** Returns whether this user can read the file, or something in the folder. */
export async function isReachable(path: string): Promise<boolean> {
  const info = await stat(path).catch(() => null);
  const right = info?.isDirectory() === true ? constants.X_OK : constants.R_OK;
  return (
    info !== null &&
    (await access(path, right).then(
      () => true,
      () => false,
    ))
  );
}

/**
 * Lists a folder; empty if this user can read nothing in it. Throws if the folder can be entered but not listed, because
 * a program that knows a name in it can read that file.
 */
export async function reachableEntries(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isErrno(error, "ENOTDIR") || (isUnreadable(error) && !(await isReachable(folder)))) return [];
    throw error;
  }
}

/** Reads a regular file. Reading a pipe or a device might never end. */
export async function readRegular(path: string, maxBytes = Number.POSITIVE_INFINITY): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const info = await file.stat();
    if (!info.isFile()) throw new Error("expected a file, found a folder or a device");
    if (info.size > maxBytes) throw new Error(`expected at most ${maxBytes} bytes, found ${info.size}`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

export function isErrno(error: unknown, ...codes: string[]): error is NodeJS.ErrnoException {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

/** Makes renames in a folder survive a power failure. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
