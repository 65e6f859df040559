/** A git working tree with the overrides that its own configuration requires. */
import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { isInside } from "../files.ts";
import { fields, type GitOptions, type GitResult, GitRunError, line, type RunGit } from "./run.ts";

export type Repository = {
  /** The root of the working tree, without symbolic links. */
  readonly root: string;
  /** The git folder of this working tree. A linked worktree has its own. */
  readonly gitDir: string;
  /** The git folder that all working trees of the repository share. */
  readonly commonDir: string;
  /** Filters and drivers of the repository's own configuration, which Aegis does not run. */
  readonly filtersOff: readonly string[];
  /** Some tracked files may be missing from the working tree on purpose. */
  readonly isSparse: boolean;
  git(args: readonly string[], options?: GitOptions): Promise<GitResult>;
  /** A repository inside the working tree, with the overrides that its own configuration requires. */
  nested(path: string): Promise<Repository>;
};

/** Git LFS is a filter of the user, but the repository's configuration can name programs for it. */
const lfs = "lfs\\.((.*\\.)?standalonetransferagent|customtransfer\\..*|extension\\..*)";
const relevant = `^(core\\.sparsecheckout|(filter|merge|diff)\\..*\\.(clean|smudge|process|required|driver|command|textconv|cachetextconv)|hook\\..*|${lfs})$`;

/** Whether the folder is in a working tree. Reads no configuration and starts no process. */
export function hasRepository(folder: string): boolean {
  return workingTreeOf(folder) !== null;
}

/** The root of the working tree that contains the folder, or null. */
function workingTreeOf(folder: string): string | null {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (dirname(at) === at) return null;
  }
}

/** The project's folder inside a worktree: the project may be a folder inside its repository. */
export function projectIn(worktree: string, root: string): string {
  return join(worktree, relative(workingTreeOf(root) ?? root, root));
}

/** Throws `GitRunError`: `no_repository` if the folder is in no working tree. */
export async function openRepository(run: RunGit, folder: string): Promise<Repository> {
  // Neither command runs anything that the repository names.
  const [asked, { overrides, filtersOff, isSparse }] = await Promise.all([
    run(folder, ["rev-parse", "--path-format=absolute", "--show-toplevel", "--absolute-git-dir", "--git-common-dir"]),
    overridesOf(run, folder),
  ]);
  const [top = "", gitDir = "", common = ""] = line(asked).split("\n");
  const [root, place] = await Promise.all([realpath(top), realpath(folder)]);
  // `core.worktree` of a hostile configuration points git at another folder.
  if (!isInside(root, place) || !existsSync(join(root, ".git")))
    throw new GitRunError("unsafe", `the repository of ${place} names another working tree: ${root}`);
  return {
    root,
    gitDir,
    commonDir: await realpath(common),
    filtersOff,
    isSparse,
    git: (args, options) => run(root, [...overrides, ...args], options),
    async nested(path) {
      const inner = await openRepository(run, join(root, path));
      // Without a usable `.git` of its own, git finds the repository around it.
      if (inner.root === root) throw new GitRunError("unsafe", `${path} has no repository of its own`);
      return inner;
    },
  };
}

type Overrides = { overrides: string[]; filtersOff: string[]; isSparse: boolean };

/**
 * Filters of the user's global configuration, such as git-lfs, were installed by the user and stay on. Filters of the
 * repository would run a program that the repository names: an empty command passes the content through.
 */
async function overridesOf(run: RunGit, folder: string): Promise<Overrides> {
  const listed = await run(folder, ["config", "--show-scope", "-z", "--get-regexp", relevant], { codes: [0, 1] });
  const found = fields(listed.stdout);
  const overrides: string[] = [];
  const off = new Set<string>();
  let isSparse = false;
  for (let at = 0; at + 1 < found.length; at += 2) {
    const scope = found[at] ?? "";
    const [key = "", value = "true"] = (found[at + 1] ?? "").split("\n");
    const owner = key.slice(0, key.lastIndexOf("."));
    if (key === "core.sparsecheckout") isSparse = !/^(false|no|off|0|)$/i.test(value);
    // Since git 2.54 a configuration file can define hooks, which `core.hooksPath` does not disable.
    else if (key.startsWith("hook.")) overrides.push("-c", `${owner}.enabled=false`);
    else if (scope === "local" || scope === "worktree") {
      overrides.push("-c", `${key}=${/\.(required|cachetextconv|driver)$/.test(key) ? "false" : ""}`);
      off.add(owner);
    }
  }
  return { overrides, filtersOff: [...off].sort(), isSparse };
}
