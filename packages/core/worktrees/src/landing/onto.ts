/**
 * What a branch has of a session's work, beyond what git knows. A squash and a rebase put the work on the branch as other
 * commits, so git would compare the next work of the session with the branch as if none of it had landed.
 */
import type { Landing } from "@aegis/contract/landing.ts";
import type { Repository } from "@aegis/lib/git/repository.ts";
import { line } from "@aegis/lib/git/run.ts";
import { addsNothing, commitTree, isAncestor, treeOf } from "../commits.ts";

export type Onto = {
  /** The commit of the branch. */
  old: string;
  /** The last commit of the work. */
  tip: string;
  /** Newest first. */
  landings: readonly Pick<Landing, "state" | "old" | "tip" | "next">[];
};

/**
 * `old` itself, or a commit with its files that also has the commits of `tip` as parents that landed on the branch. It is
 * only for comparisons: no branch ever contains it.
 */
export async function withLanded(repository: Repository, { old, tip, landings }: Onto): Promise<string> {
  const open = new Set(line(await repository.git(["rev-list", tip, "--not", old])).split("\n"));
  const landed: string[] = [];
  for (const { state, old: before, tip: work, next } of landings) {
    // `nothing`: the branch had the work already.
    const commit = state === "landed" ? next : state === "nothing" ? before : null;
    if (work === null || commit === null || !open.has(work)) continue;
    // Merged back into the work since: then git knows.
    if (await isAncestor(repository, commit, tip)) continue;
    if (await isOneOf(repository, work, landed)) continue;
    // A person may have rewritten the branch, for example with `git pull --rebase`.
    const isThere = (await isAncestor(repository, commit, old)) || (await addsNothing(repository, old, work));
    if (isThere) landed.push(work);
  }
  if (landed.length === 0) return old;
  const tree = await treeOf(repository, old);
  return commitTree(repository, { tree, parents: [old, ...landed], message: "For a comparison" });
}

async function isOneOf(repository: Repository, commit: string, newer: readonly string[]): Promise<boolean> {
  for (const one of newer) if (await isAncestor(repository, commit, one)) return true;
  return false;
}
