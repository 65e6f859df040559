/** Gives the check of a landing exactly the tree that would land, in a separate worktree. */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import type { Repository } from "@aegis/lib/git/repository.ts";

export type Scratch = {
  repository: Repository;
  /** A folder that does not exist, or that an interrupted check left behind. */
  dir: string;
  commit: string;
};

const checkoutTimeoutMs = 600_000;

export async function inScratch<T>({ repository, dir, commit }: Scratch, work: () => Promise<T>): Promise<T> {
  await removeScratch(repository, dir);
  const flags = ["--detach", "--force", "--force"];
  await repository.git(["worktree", "add", "-q", ...flags, dir, commit], { timeoutMs: checkoutTimeoutMs });
  try {
    return await work();
  } finally {
    await removeScratch(repository, dir);
  }
}

/** Holds nothing but a commit and what the check wrote. */
async function removeScratch({ git }: Repository, dir: string): Promise<void> {
  if (existsSync(dir)) await git(["worktree", "remove", "--force", "--force", dir], { codes: [0, 128] });
  await rm(dir, { recursive: true, force: true });
}
