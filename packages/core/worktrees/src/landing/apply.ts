/**
 * Moves a branch with compare-and-swap. If the branch is checked out somewhere, the files of that checkout change first:
 * in the other order, a crash would leave a checkout that looks like a staged revert.
 */
import type { Landing } from "@aegis/contract/landing.ts";
import { openRepository, type Repository } from "@aegis/lib/git/repository.ts";
import { fields, GitRunError, line, type RunGit } from "@aegis/lib/git/run.ts";
import { isAncestor, treeOf } from "../commits.ts";

export type ApplyOutcome = { state: "landed" } | { state: "moved" } | { state: "waiting"; why: string };

type Checked = Pick<Landing, "target" | "id"> & { old: string; next: string };

/** `moved`: the branch is no longer where the plan started. Safe to repeat after a crash. */
export async function apply(
  run: RunGit,
  repository: Repository,
  { target, old, next, id }: Checked,
): Promise<ApplyOutcome> {
  const ref = `refs/heads/${target}`;
  const now = line(await repository.git(["rev-parse", "--verify", ref]));
  // After a crash the branch may have it, with later commits on top.
  if (await isAncestor(repository, next, now)) return { state: "landed" };
  const checkout = await checkoutOf(run, repository, ref);
  const isPrepared = checkout !== null && (await indexTree(checkout)) === (await treeOf(repository, next));
  if (now !== old) {
    // A crash came after the files were written and before the branch moved, and then the branch was moved.
    if (checkout !== null && isPrepared) await checkout.git(["read-tree", "-m", "-u", next, now]);
    return { state: "moved" };
  }
  if (checkout !== null && !isPrepared) {
    if (!(await isClean(checkout))) return { state: "waiting", why: `${checkout.root} has uncommitted changes` };
    try {
      await checkout.git(["read-tree", "-m", "-u", old, next]);
    } catch (error) {
      if (!(error instanceof GitRunError)) throw error;
      return { state: "waiting", why: error.stderr.trim().split("\n")[0] ?? error.message };
    }
  }
  try {
    await repository.git(["update-ref", "--create-reflog", "-m", `aegis: land ${id}`, ref, next, old]);
    return { state: "landed" };
  } catch (error) {
    if (!(error instanceof GitRunError)) throw error;
    if (checkout !== null) await checkout.git(["read-tree", "-m", "-u", next, old]);
    return { state: "moved" };
  }
}

async function checkoutOf(run: RunGit, repository: Repository, ref: string): Promise<Repository | null> {
  let folder: string | null = null;
  for (const field of fields((await repository.git(["worktree", "list", "--porcelain", "-z"])).stdout)) {
    if (field.startsWith("worktree ")) folder = Buffer.from(field.slice(9), "latin1").toString("utf8");
    if (field === `branch ${ref}` && folder !== null) return openRepository(run, folder);
  }
  return null;
}

async function indexTree({ git }: Repository): Promise<string | null> {
  const found = await git(["write-tree"], { codes: [0, 128] });
  return found.code === 0 ? line(found) : null;
}

/** Untracked files do not count: git refuses by itself to overwrite one. */
async function isClean({ git }: Repository): Promise<boolean> {
  await git(["update-index", "-q", "--refresh"], { codes: [0, 1] });
  const files = await git(["diff-files", "--quiet", "--ignore-submodules=dirty"], { codes: [0, 1] });
  const index = await git(["diff-index", "--cached", "--quiet", "HEAD", "--"], { codes: [0, 1] });
  return files.code === 0 && index.code === 0;
}
