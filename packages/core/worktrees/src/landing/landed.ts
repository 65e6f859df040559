/** Decides whether the work of a session is on a branch already: by its commits, as one commit, or rebased. */
import type { Landing } from "@aegis/contract/landing.ts";
import type { Worktree } from "@aegis/contract/worktree.ts";
import type { Repository } from "@aegis/lib/git/repository.ts";
import { GitRunError } from "@aegis/lib/git/run.ts";
import { commitTree, treeOf } from "../commits.ts";
import { mergeTrees } from "./plan.ts";

/** The place from which a worktree started, and the landings of its session that succeeded. */
export type Landed = Pick<Worktree, "base" | "target"> & { landings: readonly Pick<Landing, "tip">[] };

/** The files of a working tree, which has `head` checked out. */
export type Files = { head: string; tree: string };

export async function commitHasLanded(repository: Repository, place: Landed, commit: string): Promise<boolean> {
  const names = [place.base, branchOf(place), ...place.landings.map(({ tip }) => tip)];
  for (const name of names) if (name !== null && (await isAncestor(repository, commit, name))) return true;
  return addsNothing(repository, branchOf(place), commit);
}

export async function filesHaveLanded(repository: Repository, place: Landed, { head, tree }: Files): Promise<boolean> {
  if (tree === (await treeOf(repository, head))) return commitHasLanded(repository, place, head);
  for (const { tip } of place.landings)
    if (tip !== null && (await isAncestor(repository, head, tip)) && (await treeOf(repository, tip)) === tree)
      return true;
  const commit = await commitTree(repository, { tree, parents: [head], message: "Uncommitted work" });
  return addsNothing(repository, branchOf(place), commit);
}

function branchOf({ target }: Landed): string | null {
  return target === null ? null : `refs/heads/${target}`;
}

/** Garbage collection may have removed the last commit of an old landing: then it proves nothing. */
async function isAncestor({ git }: Repository, commit: string, name: string): Promise<boolean> {
  return (await git(["merge-base", "--is-ancestor", commit, name], { codes: [0, 1, 128] })).code === 0;
}

/** Whether a merge of the commit would leave the branch as it is. */
async function addsNothing(repository: Repository, branch: string | null, commit: string): Promise<boolean> {
  if (branch === null) return false;
  try {
    const { tree, conflicts } = await mergeTrees(repository, branch, commit);
    return conflicts.length === 0 && tree === (await treeOf(repository, branch));
  } catch (error) {
    if (error instanceof GitRunError) return false;
    throw error;
  }
}
