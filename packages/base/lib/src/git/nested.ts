/**
 * Repositories inside a working tree: submodules and others. Each is entered by itself, because git enters them
 * without the overrides that their own configuration requires.
 */
import { lstat } from "node:fs/promises";
import type { Repository } from "./repository.ts";
import { fields, type GitOptions, type GitResult, GitRunError, shown } from "./run.ts";

const deepest = 8;
const submodule = "160000 ";

/** The submodules and nested repositories that an index names, as fields. */
export async function linkedRepositories(
  git: (args: readonly string[], options?: GitOptions) => Promise<GitResult>,
): Promise<string[]> {
  const listed = fields((await git(["ls-files", "-s", "-z"])).stdout).filter((entry) => entry.startsWith(submodule));
  return [...new Set(listed.map((entry) => entry.slice(entry.indexOf("\t") + 1)))];
}

/** The `linked` repositories with uncommitted changes, also below them. One that git cannot read counts. */
export async function changedRepositories(outer: Repository, linked: readonly string[], depth = 1): Promise<string[]> {
  const changed: string[] = [];
  for (const field of linked) {
    if (!(await exists(outer.root, `${field}/.git`))) continue;
    const isChanged = await outer
      .nested(shown(field))
      .then((inner) => hasChanges(inner, depth))
      .catch((error: unknown) => {
        if (error instanceof GitRunError) return true;
        throw error;
      });
    if (isChanged) changed.push(shown(field));
  }
  return changed;
}

/** Whether a working tree, or a repository that it links, has uncommitted changes. */
export async function hasChanges(repository: Repository, depth = 1): Promise<boolean> {
  const { stdout } = await repository.git(["status", "--porcelain", "-z", "--ignore-submodules=dirty"]);
  if (stdout.length > 0 || depth >= deepest) return true;
  const linked = await linkedRepositories(repository.git);
  return (await changedRepositories(repository, linked, depth + 1)).length > 0;
}

async function exists(root: string, field: string): Promise<boolean> {
  const path = Buffer.concat([Buffer.from(`${root}/`), Buffer.from(field, "latin1")]);
  return lstat(path).then(
    () => true,
    () => false,
  );
}
