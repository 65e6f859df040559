/** Writes commits for work that agents did not commit. Uses no identity of the user's configuration. */
import type { Repository } from "@aegis/lib/git/repository.ts";
import { line } from "@aegis/lib/git/run.ts";

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
