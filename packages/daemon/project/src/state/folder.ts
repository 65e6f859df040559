/**
 * The state folder of a project. Aegis refuses a folder that links out of the project before it creates, writes or
 * chmods anything behind the link.
 */
import { constants, type Dirent } from "node:fs";
import { access, lstat, mkdir, open, readdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { stateDir } from "@aegis/lib/daemon-file.ts";
import { containedPath, ifMissing, isErrno, writeAtomic } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";

/**
 * Returns the path of the state folder, which may not exist. Throws `unavailable` if it is a link or if `.aegis` links
 * out of the project.
 */
export async function containedStateDir(root: string): Promise<string> {
  const path = stateDir(root);
  const contained = (await containedPath(root, relative(root, path))) !== null;
  if (contained && !(await isLink(path))) return path;
  const problem = contained ? "is a link" : "leads out of the project through a link";
  throw new AegisError("unavailable", `${path} ${problem}: nothing there is used or changed`, {
    hint: "remove the link; Aegis keeps its state in a folder of the project",
    details: { state: "link", path },
  });
}

async function isLink(path: string): Promise<boolean> {
  return (await isThere(path)) && (await lstat(path)).isSymbolicLink();
}

/**
 * Throws `unavailable` if an entry of the state folder, or of a folder directly in it, is a link, because Aegis writes
 * there by name. Deeper folders belong to harnesses and plugins, which may contain links.
 */
export async function refuseLinks(root: string): Promise<void> {
  const dir = await containedStateDir(root);
  const link = (await findLink(dir)) ?? (await findLinkBelow(dir));
  if (link === null) return;
  throw new AegisError("unavailable", `${link} is a link: Aegis writes there and does not follow links`, {
    hint: "remove the link, or set the whole folder aside with: aegis state set-aside",
    details: { state: "link", path: link },
  });
}

async function findLink(dir: string): Promise<string | null> {
  const found = (await entries(dir)).find((entry) => entry.isSymbolicLink());
  return found === undefined ? null : join(dir, found.name);
}

async function findLinkBelow(dir: string): Promise<string | null> {
  for (const entry of await entries(dir)) {
    const found = entry.isDirectory() ? await findLink(join(dir, entry.name)) : null;
    if (found !== null) return found;
  }
  return null;
}

/** Throws `unavailable` if the folder cannot be written or created. Changes nothing. */
export async function requireWritable(root: string): Promise<void> {
  const path = await containedStateDir(root);
  for (let probe = path; ; probe = dirname(probe)) {
    try {
      await access(probe, constants.W_OK);
      return;
    } catch (error) {
      if (!isErrno(error, "ENOENT") || probe === root) throw notWritable(path, error);
    }
  }
}

/** Creates the folder if it is missing and makes it private. Throws `unavailable` if it is unusable. */
export async function makeStateFolder(root: string): Promise<string> {
  const path = await containedStateDir(root);
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await refuseLinks(root);
    await makePrivate(path);
    await access(path, constants.W_OK);
    await hideFromGit(path);
    return path;
  } catch (error) {
    throw error instanceof AegisError ? error : notWritable(path, error);
  }
}

function notWritable(path: string, error: unknown): AegisError {
  return new AegisError("unavailable", `cannot write ${path}: ${errorText(error)}`, {
    hint: "Aegis keeps its state there; make the folder writable, or start it as the user who owns it",
    cause: error,
  });
}

/** The folder holds a token and transcripts, and a project may become a git repository at any time. */
export async function hideFromGit(dir: string): Promise<void> {
  const path = join(dir, ".gitignore");
  const known = (await isThere(path)) && (await lstat(path)).isFile();
  if (known || !(await lstat(dir)).isDirectory()) return;
  // Replaces an existing entry instead of writing through a link.
  await writeAtomic(path, "*\n");
}

/** Uses a handle that was opened without following links, so that the mode of another file is never changed. */
async function makePrivate(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    await folder.chmod(0o700);
  } finally {
    await folder.close();
  }
}

async function entries(dir: string): Promise<Dirent[]> {
  try {
    return await readdir(dir, { withFileTypes: true });
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}

/** Checks whether an entry exists, without following a link. */
export async function isThere(path: string): Promise<boolean> {
  return (await lstat(path).catch(ifMissing(null))) !== null;
}
