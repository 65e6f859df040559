/** Computes what a branch becomes, in the object store only: no checkout, index or branch changes. */
import type { LandHow } from "@aegis/contract/landing.ts";
import type { Repository } from "@aegis/lib/git/repository.ts";
import { line } from "@aegis/lib/git/run.ts";
import { commitTree, isAncestor, mergeTrees, treeOf } from "../commits.ts";

export type LandingPlan =
  | { state: "nothing" }
  | { state: "ready"; next: string }
  /** `tree` has the merged files, with conflict markers in `files`. */
  | { state: "conflict"; tree: string; files: string[] };

/** `onto`: `old` with what it has of the work, as `withLanded` returns it. */
export type PlanRequest = { old: string; onto: string; tip: string; how: LandHow; message: string };

export async function plan(
  repository: Repository,
  { old, onto, tip, how, message }: PlanRequest,
): Promise<LandingPlan> {
  if (await isAncestor(repository, tip, onto)) return { state: "nothing" };
  const whole = await mergeTrees(repository, onto, tip);
  if (whole.conflicts.length > 0) return { state: "conflict", tree: whole.tree, files: whole.conflicts };
  if (whole.tree === (await treeOf(repository, old))) return { state: "nothing" };
  const rebased = how === "rebase" ? await rebase(repository, { old, onto, tip }) : null;
  // A commit in the middle may conflict although the whole does not: then it lands as one commit.
  // So may a merge of the agent, whose resolution is in none of the other commits.
  if (rebased !== null && (await treeOf(repository, rebased)) === whole.tree) return { state: "ready", next: rebased };
  const parents = how === "merge" ? [old, tip] : [old];
  return { state: "ready", next: await commitTree(repository, { tree: whole.tree, parents, message }) };
}

/** Null if one of the commits conflicts. Keeps authors, dates and messages; leaves out commits without a change. */
async function rebase(
  repository: Repository,
  { old, onto, tip }: Pick<PlanRequest, "old" | "onto" | "tip">,
): Promise<string | null> {
  const listed = await repository.git(["rev-list", "--reverse", "--topo-order", "--no-merges", `${onto}..${tip}`]);
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
