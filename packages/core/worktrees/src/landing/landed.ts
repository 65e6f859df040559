/** Decides whether the work of a session is on a branch already: by its commits, as one commit, or rebased. */
import type { Landing } from "@aegis/contract/landing.ts";
import type { Worktree } from "@aegis/contract/worktree.ts";
import type { Repository } from "@aegis/lib/git/repository.ts";
import { addsNothing, commitTree, isAncestor, treeOf } from "../commits.ts";

/** The place from which a worktree started, and the landings of its session that succeeded. */
export type LandedWork = Pick<Worktree, "base" | "target"> & { landings: readonly Pick<Landing, "tip">[] };

/** The files of a working tree, which has `head` checked out. */
export type Files = { head: string; tree: string };

export async function commitHasLanded(repository: Repository, place: LandedWork, commit: string): Promise<boolean> {
  const names = [place.base, branchOf(place), ...place.landings.map(({ tip }) => tip)];
  for (const name of names) if (name !== null && (await isAncestor(repository, commit, name))) return true;
  return isOnBranch(repository, place, commit);
}

export async function filesHaveLanded(
  repository: Repository,
  place: LandedWork,
  { head, tree }: Files,
): Promise<boolean> {
  if (tree === (await treeOf(repository, head))) return commitHasLanded(repository, place, head);
  for (const { tip } of place.landings)
    if (tip !== null && (await isAncestor(repository, head, tip)) && (await treeOf(repository, tip)) === tree)
      return true;
  const commit = await commitTree(repository, { tree, parents: [head], message: "Uncommitted work" });
  return isOnBranch(repository, place, commit);
}

async function isOnBranch(repository: Repository, place: LandedWork, commit: string): Promise<boolean> {
  const branch = branchOf(place);
  return branch !== null && addsNothing(repository, branch, commit);
}

function branchOf({ target }: LandedWork): string | null {
  return target === null ? null : `refs/heads/${target}`;
}
