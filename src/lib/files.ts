/** File writes that survive a crash, and paths that stay inside their folder. */
import { randomBytes } from "node:crypto";
import { mkdir, open, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";

/** Replaces a file whole or not at all: temporary file beside it, fsync, rename, fsync of the folder. */
export async function writeAtomic(
  path: string,
  data: string | Uint8Array,
  options: { mode?: number } = {},
): Promise<void> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`);
  try {
    const file = await open(temporary, "wx", options.mode ?? 0o644);
    try {
      await file.writeFile(data);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Makes a folder that only its owner can enter. */
export async function makePrivateDir(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}

/** The same for folders below one that must exist: what was deleted above them is not brought back. */
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
 * The real path of `path` below `root`, or null when it leaves it: by `..`, by an absolute path or through a link.
 * A file that does not exist yet is judged by its nearest existing folder.
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
      missing.unshift(basename(probe));
    }
  }
}

export function isInside(root: string, path: string): boolean {
  const below = relative(root, path);
  return below === "" || (!isAbsolute(below) && below !== ".." && !below.startsWith(`..${sep}`));
}

/** Whether there is something at a path. Throws when the system does not say. */
export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return false;
    throw error;
  }
}

export function isErrno(error: unknown, ...codes: string[]): error is NodeJS.ErrnoException {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}

/** Makes renames in a folder survive a power cut. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
