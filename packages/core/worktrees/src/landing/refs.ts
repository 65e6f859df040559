/** References that keep the commits of unfinished landings from garbage collection. */
import type { LandingId } from "@aegis/contract/ids.ts";
import type { Landing } from "@aegis/contract/landing.ts";
import { hasRepository, openRepository, type Repository } from "@aegis/lib/git/repository.ts";
import { line, type RunGit } from "@aegis/lib/git/run.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";

export type ReleaseOptions = { git: RunGit; root: string; log: Logger };

const prefix = "refs/aegis/land/";

export async function holdCommit({ git }: Repository, id: LandingId, commit: string): Promise<void> {
  await git(["update-ref", `${prefix}${id}`, commit]);
}

/**
 * The commits of an ended landing are on a branch, or no longer needed. Never throws: a reference that stays costs
 * nothing, and the next start tries again. Leaves those of another project in the same repository alone.
 */
export async function releaseCommits(
  { git, root, log }: ReleaseOptions,
  ended: readonly Pick<Landing, "id">[],
): Promise<void> {
  if (ended.length === 0 || !hasRepository(root)) return;
  try {
    const repository = await openRepository(git, root);
    const listed = line(await repository.git(["for-each-ref", "--format=%(refname)", prefix]));
    const held = new Set(listed.split("\n"));
    const refs = ended.map(({ id }) => `${prefix}${id}`).filter((ref) => held.has(ref));
    const input = refs.map((ref) => `delete ${ref}\n`).join("");
    if (input !== "") await repository.git(["update-ref", "--stdin"], { input });
  } catch (error) {
    log.warn("references of landings were kept", { error: errorText(error) });
  }
}
