/**
 * The branch of a session's worktree. Aegis commits there what the agent did not commit, and lets it continue from what
 * landed. Neither changes a file, nor what the agent staged; each step can be repeated after a crash.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Repository } from "@aegis/lib/git/repository.ts";
import { fields, GitRunError, line } from "@aegis/lib/git/run.ts";
import { commitTree, treeOf } from "../commits.ts";

export type WorkToCommit = {
  /** The files of the worktree, and the commit that it has checked out. */
  tree: string;
  head: string;
  /** Where the work lands: a commit of Aegis on this branch would land it. */
  target: string;
  message: string;
};

/** `moved`: the agent committed meanwhile. */
export type CommitOutcome =
  | { state: "committed"; tip: string }
  | { state: "moved" }
  | { state: "waiting"; why: string };

/** Files that git keeps while it waits for the end of an operation. */
const operations: Readonly<Record<string, string>> = {
  MERGE_HEAD: "merge",
  CHERRY_PICK_HEAD: "cherry-pick",
  REVERT_HEAD: "revert",
  "rebase-merge": "rebase",
  "rebase-apply": "rebase",
};

export async function commitWork(own: Repository, work: WorkToCommit): Promise<CommitOutcome> {
  const { tree, head, target, message } = work;
  if (tree === (await treeOf(own, head))) return { state: "committed", tip: head };
  const operation = await unfinished(own);
  if (operation !== null)
    return {
      state: "waiting",
      why: `${own.root} is in the middle of a ${operation}: finish or abort it there, and land again`,
    };
  const tip = await commitTree(own, { tree, parents: [head], message });
  if ((await branchOf(own)) === `refs/heads/${target}`) return { state: "committed", tip };
  try {
    // First the index: after a crash in between, the work looks staged. In the other order, its removal would.
    await stage(own, head, tip);
    await own.git(["update-ref", "--create-reflog", "-m", "aegis: commit what lands", "HEAD", tip, head]);
    return { state: "committed", tip };
  } catch (error) {
    if (!(error instanceof GitRunError)) throw error;
    if ((await headOf(own)) !== head) return { state: "moved" };
    return { state: "waiting", why: error.stderr.trim().split("\n")[0] || error.message };
  }
}

/**
 * Lets the branch name what landed, if that changes no file: nobody else has changed the branch on which it landed. Otherwise
 * the branch stays, and the next landing knows from this one what is on the other branch already.
 */
export async function continueFrom(
  own: Repository,
  { branch, tip, next }: { branch: string; tip: string; next: string },
): Promise<void> {
  if (tip === next || (await branchOf(own)) !== `refs/heads/${branch}` || (await headOf(own)) !== tip) return;
  if ((await treeOf(own, tip)) !== (await treeOf(own, next)) || (await unfinished(own)) !== null) return;
  try {
    await own.git(["update-ref", "--create-reflog", "-m", "aegis: continue from what landed", "HEAD", next, tip]);
  } catch (error) {
    // The agent committed meanwhile.
    if (!(error instanceof GitRunError)) throw error;
  }
}

async function branchOf({ git }: Repository): Promise<string | null> {
  const found = await git(["symbolic-ref", "-q", "HEAD"], { codes: [0, 1] });
  return found.code === 0 ? line(found) : null;
}

async function headOf({ git }: Repository): Promise<string> {
  return line(await git(["rev-parse", "--verify", "HEAD"]));
}

async function unfinished({ gitDir, git }: Repository): Promise<string | null> {
  for (const [file, operation] of Object.entries(operations)) if (existsSync(join(gitDir, file))) return operation;
  const unmerged = await git(["ls-files", "-u", "-z"], { maxBytes: 1 });
  return unmerged.stdout.length > 0 ? "merge" : null;
}

type Entry = { mode: string; oid: string };

const noEntry = /^0+$/;

/** What the index has, by path. Without the entries of conflicts. */
async function indexEntries({ git }: Repository): Promise<ReadonlyMap<string, Entry>> {
  const listed = fields((await git(["ls-files", "-s", "-z"])).stdout).map((entry) => {
    const [mode = "", oid = ""] = entry.split(" ");
    return [entry.slice(entry.indexOf("\t") + 1), { mode, oid }] as const;
  });
  return new Map(listed);
}

/** Brings the index from one commit to the next, except for what the agent has staged. */
async function stage(own: Repository, head: string, tip: string): Promise<void> {
  const diff = await own.git(["diff-tree", "-r", "-z", "--no-renames", "--raw", head, tip]);
  const records = fields(diff.stdout);
  const staged = await indexEntries(own);
  // `git add --intent-to-add` stages this.
  const empty = line(await own.git(["hash-object", "--stdin"], { input: "" }));
  const [gone, put]: [string[], string[]] = [[], []];
  for (let at = 0; at + 1 < records.length; at += 2) {
    const [oldMode = "", mode = "", oldOid = "", oid = ""] = (records[at] ?? "").replace(/^:/, "").split(" ");
    const path = records[at + 1] ?? "";
    const entry = staged.get(path);
    const isAsBefore = noEntry.test(oldOid)
      ? entry === undefined || entry.oid === empty
      : entry?.oid === oldOid && entry.mode === oldMode;
    if (!isAsBefore) continue;
    if (noEntry.test(oid)) gone.push(`0 ${oid}\t${path}\0`);
    else put.push(`${mode} ${oid}\t${path}\0`);
  }
  if (gone.length + put.length === 0) return;
  const input = Buffer.from([...gone, ...put].join(""), "latin1");
  await own.git(["update-index", "--add", "--remove", "--replace", "-z", "--index-info"], { input });
  // So that git need not read these files the next time.
  await own.git(["update-index", "-q", "--refresh"], { codes: [0, 1, 128] });
}
