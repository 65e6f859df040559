/** Computes what a branch becomes, in the object store only: no checkout, index or branch changes. */
import type { LandHow } from "@aegis/contract/landing.ts";
import type { Repository } from "@aegis/lib/git/repository.ts";
import { GitRunError, line } from "@aegis/lib/git/run.ts";
import { commitTree, treeOf } from "../commits.ts";

export type Plan =
  | { state: "nothing" }
  | { state: "ready"; next: string }
  /** `tree` has the merged files, with conflict markers in `files`. */
  | { state: "conflict"; tree: string; files: string[] };

export type PlanRequest = { old: string; tip: string; how: LandHow; message: string };

export async function plan(repository: Repository, { old, tip, how, message }: PlanRequest): Promise<Plan> {
  const { code } = await repository.git(["merge-base", "--is-ancestor", tip, old], { codes: [0, 1] });
  if (code === 0) return { state: "nothing" };
  const whole = await mergeTrees(repository, old, tip);
  if (whole.conflicts.length > 0) return { state: "conflict", tree: whole.tree, files: whole.conflicts };
  if (whole.tree === (await treeOf(repository, old))) return { state: "nothing" };
  const rebased = how === "rebase" ? await rebase(repository, old, tip) : null;
  // A commit in the middle may conflict although the whole does not: then it lands as one commit.
  if (rebased !== null) return { state: "ready", next: rebased };
  const parents = how === "merge" ? [old, tip] : [old];
  return { state: "ready", next: await commitTree(repository, { tree: whole.tree, parents, message }) };
}

export async function mergeTrees(
  repository: Repository,
  ours: string,
  theirs: string,
): Promise<{ tree: string; conflicts: string[] }> {
  const args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories"];
  const { stdout } = await repository.git([...args, ours, theirs], { codes: [0, 1] }).catch((error: unknown) => {
    if (error instanceof GitRunError && /usage: git merge-tree/.test(error.stderr))
      throw new GitRunError("failed", "landing needs git 2.38 or later", error.stderr, error);
    throw error;
  });
  const [tree = "", ...conflicts] = stdout
    .toString("utf8")
    .split("\0")
    .filter((part) => part !== "");
  return { tree, conflicts: [...new Set(conflicts)] };
}

/** Null if one of the commits conflicts. Keeps authors, dates and messages; leaves out commits without a change. */
async function rebase(repository: Repository, old: string, tip: string): Promise<string | null> {
  const listed = await repository.git(["rev-list", "--reverse", "--topo-order", "--no-merges", `${old}..${tip}`]);
  let current = old;
  for (const commit of line(listed).split("\n")) {
    const parent = await repository.git(["rev-parse", "-q", "--verify", `${commit}^`], { codes: [0, 1] });
    if (parent.code !== 0) return null;
    // The computed merge base is then the parent of the commit.
    const ours = await commitTree(repository, {
      tree: await treeOf(repository, current),
      parents: [line(parent)],
      message: "x",
    });
    const { tree, conflicts } = await mergeTrees(repository, ours, commit);
    if (conflicts.length > 0) return null;
    if (tree === (await treeOf(repository, current))) continue;
    const shown = await repository.git(["show", "-s", "--format=%an%x00%ae%x00%aI%x00%B", commit]);
    const [name = "", email = "", date = "", ...message] = shown.stdout.toString("utf8").split("\0");
    const env = { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_AUTHOR_DATE: date };
    current = await commitTree(repository, { tree, parents: [current], message: message.join("\0").trimEnd(), env });
  }
  return current === old ? null : current;
}
