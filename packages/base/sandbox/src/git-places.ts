/** The parts of a git repository that work in a folder changes, and those that make git run programs. */
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isErrno } from "@aegis/lib/files.ts";

export type GitPlaces = { write: string[]; protect: string[] };

/**
 * In a worktree the common folder itself stays read-only: a `commondir` or a configuration made there would make the
 * next git of a person run a program. In a main folder git replaces files in `.git`, so only what exists is protected.
 */
export async function gitPlaces(folder: string): Promise<GitPlaces> {
  const place = join(folder, ".git");
  const found = await stat(place).catch(() => null);
  if (found === null) return { write: [], protect: [] };
  if (found.isDirectory()) return { write: [], protect: await protectedIn(place) };
  const [, named] = /^gitdir: (.+)$/m.exec(await readFile(place, "utf8")) ?? [];
  if (named === undefined) return { write: [], protect: [place] };
  const own = resolve(folder, named.trim());
  const common = await readFile(join(own, "commondir"), "utf8").then(
    (text) => resolve(own, text.trim()),
    () => null,
  );
  // Not a worktree but a submodule: its folder is like `.git`.
  if (common === null || dirname(dirname(own)) !== common)
    return { write: [], protect: [place, ...(await protectedIn(own))] };
  // A program may have written the file itself, to name the repository of another folder.
  if (!(await pointsBack(own, place))) return { write: [], protect: [place] };
  return {
    write: [...["objects", "refs", "logs"].map((name) => join(common, name)), own],
    protect: [place, ...["commondir", "gitdir", "config.worktree"].map((name) => join(own, name))],
  };
}

/** Whether the repository knows the worktree: only git, outside of the worktree, writes that. */
async function pointsBack(own: string, place: string): Promise<boolean> {
  const named = await readFile(join(own, "gitdir"), "utf8").catch(() => "");
  const [wanted, found] = await Promise.all([place, resolve(own, named.trim())].map((path) => realPath(path)));
  return wanted !== null && wanted === found && (await realPath(own)) === own;
}

function realPath(path: string): Promise<string | null> {
  return realpath(path).catch(() => null);
}

async function protectedIn(gitFolder: string): Promise<string[]> {
  const names = ["hooks", "config", "config.worktree", "info", "modules"];
  const worktrees = join(gitFolder, "worktrees");
  const known = await readdir(worktrees).catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  });
  const files = ["commondir", "gitdir", "config.worktree"];
  const ofWorktrees = known.flatMap((name) => files.map((file) => join(worktrees, name, file)));
  return [...names.map((name) => join(gitFolder, name)), ...ofWorktrees];
}
