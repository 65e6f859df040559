/** Finds the git worktrees of a project by reading the files of git, because `aegis trust` needs no daemon. */
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { projectIn } from "@aegis/lib/git/repository.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";

/** The folder of the project in each worktree other than its own, as real paths. */
export async function worktreesOf(root: string): Promise<string[]> {
  const common = await commonGitDir(root);
  if (common === null) return [];
  const names = await readdir(join(common, "worktrees")).catch(() => []);
  const found: string[] = [];
  for (const name of names.sort()) {
    const said = await readFile(join(common, "worktrees", name, "gitdir"), "utf8").catch(() => null);
    if (said === null) continue;
    const folder = await realpath(projectIn(dirname(said.trim()), root)).catch(() => null);
    if (folder !== null && folder !== (await realpath(root))) found.push(folder);
  }
  return found;
}

/** By path, relative to the current folder or the project, or by the name of its folder. Throws `not_found`. */
export async function findWorktree(root: string, wanted: string, cwd: string): Promise<string> {
  const all = await worktreesOf(root);
  for (const base of [cwd, root]) {
    const place = await realpath(resolve(base, wanted)).catch(() => null);
    if (place === null) continue;
    const inside = await realpath(projectIn(place, root)).catch(() => null);
    const found = all.find((folder) => folder === place || folder === inside);
    if (found !== undefined) return found;
  }
  const named = all.find((folder) => basename(folder) === wanted);
  if (named !== undefined) return named;
  throw new AegisError(
    "not_found",
    `${wanted} is no worktree of this project${didYouMean(
      wanted,
      all.map((folder) => basename(folder)),
    )}`,
    {
      hint: all.length === 0 ? "it has none" : `its worktrees: ${all.join(", ")}`,
    },
  );
}

async function commonGitDir(root: string): Promise<string | null> {
  for (let folder = root; ; folder = dirname(folder)) {
    const git = join(folder, ".git");
    const info = await stat(git).catch(() => null);
    if (info?.isDirectory() === true) return git;
    if (info?.isFile() === true) return linkedGitDir(folder, git);
    if (dirname(folder) === folder) return null;
  }
}

async function linkedGitDir(folder: string, git: string): Promise<string | null> {
  const dir = /^gitdir: (.+)$/m.exec(await readFile(git, "utf8"))?.[1]?.trim();
  if (dir === undefined) return null;
  const own = resolve(folder, dir);
  const common = (await readFile(join(own, "commondir"), "utf8").catch(() => ".")).trim();
  return isAbsolute(common) ? common : resolve(own, common);
}
