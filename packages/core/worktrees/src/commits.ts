/** Writes and compares commits. For work that agents did not commit, uses no identity of the user's configuration. */
import type { Repository } from "@aegis/lib/git/repository.ts";
import { GitRunError, line } from "@aegis/lib/git/run.ts";

const who = { name: "Aegis", email: "aegis@localhost" };

const identity: Readonly<Record<string, string>> = {
  GIT_AUTHOR_NAME: who.name,
  GIT_AUTHOR_EMAIL: who.email,
  GIT_COMMITTER_NAME: who.name,
  GIT_COMMITTER_EMAIL: who.email,
};

export type NewCommit = {
  tree: string;
  parents: readonly string[];
  message: string;
  env?: Readonly<Record<string, string>>;
};

export async function commitTree(
  { git }: Repository,
  { tree, parents, message, env = {} }: NewCommit,
): Promise<string> {
  const args = ["commit-tree", tree, ...parents.flatMap((parent) => ["-p", parent]), "-F", "-"];
  return line(await git(args, { input: message, env: { ...identity, ...env } }));
}

export async function treeOf({ git }: Repository, commit: string): Promise<string> {
  return line(await git(["rev-parse", "--verify", "--end-of-options", `${commit}^{tree}`]));
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

/** False if garbage collection has removed one of them. */
export async function isAncestor({ git }: Repository, commit: string, name: string): Promise<boolean> {
  return (await git(["merge-base", "--is-ancestor", commit, name], { codes: [0, 1, 128] })).code === 0;
}

/** Whether a merge of the commit would leave the branch as it is. */
export async function addsNothing(repository: Repository, branch: string, commit: string): Promise<boolean> {
  try {
    const { tree, conflicts } = await mergeTrees(repository, branch, commit);
    return conflicts.length === 0 && tree === (await treeOf(repository, branch));
  } catch (error) {
    if (error instanceof GitRunError) return false;
    throw error;
  }
}
