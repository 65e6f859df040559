/** What a conflict leaves in a session's worktree. */
import type { Repository } from "@aegis/lib/git/repository.ts";
import { line } from "@aegis/lib/git/run.ts";
import { isAncestor } from "../commits.ts";

export type Merge = { merge: string; tip: string | null; target: string; rescue: () => Promise<unknown> };

/** Those of the files that still have conflict markers in the commit. */
export async function withMarkers({ git }: Repository, commit: string, files: readonly string[]): Promise<string[]> {
  const left: string[] = [];
  for (const path of files) {
    const { stdout, code } = await git(["cat-file", "blob", `${commit}:${path}`], { codes: [0, 128] });
    const text = stdout.toString("utf8");
    if (code === 0 && /^<{7} /m.test(text) && /^>{7} /m.test(text)) left.push(path);
  }
  return left;
}

/** Checks out a merge of `tip` in the worktree, after a rescue. False if the worktree has other commits by now. */
export async function checkOutMerge(own: Repository, { merge, tip, target, rescue }: Merge): Promise<boolean> {
  const head = line(await own.git(["rev-parse", "--verify", "HEAD"]));
  // After a crash the merge may be in the worktree already, with work of the agent on top of it.
  if (await isAncestor(own, merge, head)) return true;
  if (head !== tip) return false;
  await rescue();
  await own.git(["read-tree", "--reset", "-u", merge]);
  await own.git(["update-ref", "--create-reflog", "-m", `aegis: merge ${target}`, "HEAD", merge, head]);
  return true;
}
