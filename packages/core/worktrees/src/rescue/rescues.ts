/** Lists, restores and drops rescues. The references in the repository are the only record of them. */
import { isAbsolute, join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { isId, type SessionId } from "@aegis/contract/ids.ts";
import type { Rescue, RescueDetail } from "@aegis/contract/rescue.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { diffTrees } from "@aegis/lib/git/diff.ts";
import { hasRepository, openRepository, type Repository } from "@aegis/lib/git/repository.ts";
import { GitRunError, type RunGit, shown } from "@aegis/lib/git/run.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { rescueRef, rescueRefs } from "./format.ts";
import { readMeta, restoreRescue } from "./restore.ts";
import { type SavedTree, saveRescue } from "./save.ts";

export type RescuesOptions = {
  git: RunGit;
  clock: Clock;
  /** The project's folder. */
  root: string;
  /** Where restored worktrees are created. */
  folder: () => string;
};

export class Rescues {
  readonly #options: RescuesOptions;
  #last = 0;

  constructor(options: RescuesOptions) {
    this.#options = options;
  }

  /** Stores the working tree of a session. Throws if anything of it could not be stored. */
  async save(dir: string, about: { session: SessionId; handle: string; reason: string }): Promise<SavedTree> {
    const { git, clock } = this.#options;
    // Two rescues of a session never have the same time.
    this.#last = Math.max(clock.now(), this.#last + 1);
    return saveRescue(await openRepository(git, dir), { ...about, ref: rescueRef(about.session, this.#last) });
  }

  /** Newest first. */
  async list(): Promise<Rescue[]> {
    const { root } = this.#options;
    if (!hasRepository(root)) return [];
    const repository = await this.#repository();
    const { stdout } = await repository.git(["for-each-ref", "--format=%(refname) %(objectname)", rescueRefs]);
    const found: Rescue[] = [];
    for (const row of stdout.toString().trim().split("\n")) {
      const [ref = "", commit = ""] = row.split(" ");
      const [session = "", at = ""] = ref.slice(rescueRefs.length + 1).split("/");
      if (!isId("ses", session)) continue;
      const { handle, reason, branch, head, dirs, nested, skipped } = await readMeta(repository, ref);
      found.push({
        id: `${session}.${at}`,
        session,
        handle,
        ref,
        commit,
        at: Number(at),
        reason,
        head,
        branch: branch?.replace(/^refs\/heads\//, "") ?? null,
        files: (await changedIn(repository, ref, { head, dirs, nested })).length,
        skipped: skipped.map(shown),
      });
    }
    return found.sort((a, b) => b.at - a.at);
  }

  async show(reference: string): Promise<RescueDetail> {
    const rescue = await this.#find(reference);
    const repository = await this.#repository();
    const changed = await changedIn(repository, rescue.ref, await readMeta(repository, rescue.ref));
    return { ...rescue, changed: changed.map(({ status, path }) => `${status} ${path}`) };
  }

  /** Creates a new worktree with the rescued files and index. The rescue is kept. */
  async restore(reference: string, to: string | undefined): Promise<{ dir: string; branch: string | null }> {
    const { git, folder } = this.#options;
    const { ref, handle, at } = await this.#find(reference);
    if (to !== undefined && !isAbsolute(to))
      throw new AegisError("invalid", `dir: expected an absolute path, not ${to}`);
    const dir = to ?? join(folder(), `rescued-${handle}-${at}`);
    try {
      return { dir, ...(await restoreRescue(git, await this.#repository(), { ref, dir })) };
    } catch (error) {
      if (!(error instanceof GitRunError)) throw error;
      throw new AegisError("conflict", `the rescue could not be restored to ${dir}: ${error.message}`, {
        cause: error,
      });
    }
  }

  /** Drops rescues that are older, and returns them. Git removes their objects later. */
  async prune(olderThanMs: number): Promise<Rescue[]> {
    const before = this.#options.clock.now() - olderThanMs;
    const old = (await this.list()).filter((rescue) => rescue.at < before);
    if (old.length === 0) return [];
    // With the commit: a reference that changed meanwhile is not dropped.
    const input = old.map(({ ref, commit }) => `delete ${ref} ${commit}\n`).join("");
    await (await this.#repository()).git(["update-ref", "--stdin"], { input });
    return old;
  }

  /** By id, or the newest of a session by its handle or id. */
  async #find(reference: string): Promise<Rescue> {
    const all = await this.list();
    const found = all.find(({ id, handle, session }) => [id, handle, session].includes(reference));
    if (found !== undefined) return found;
    const names = [...new Set(all.map(({ handle }) => handle))];
    throw new AegisError("not_found", `no rescue "${reference}"${didYouMean(reference, names)}`, {
      hint: all.length === 0 ? "there are no rescues" : "aegis rescue list shows them",
    });
  }

  #repository(): Promise<Repository> {
    return openRepository(this.#options.git, this.#options.root);
  }
}

/** The files that differ from the commit that was checked out. */
async function changedIn(
  repository: Repository,
  ref: string,
  { head, dirs, nested }: { head: string | null; dirs: readonly string[]; nested: readonly string[] },
) {
  const base = head ?? (await repository.git(["hash-object", "-t", "tree", "/dev/null"])).stdout.toString().trim();
  // A submodule without files is an empty folder, and one with files is stored by its name: neither was deleted.
  const folders = new Set([...dirs, ...nested].map(shown));
  const files = await diffTrees(repository, `${base}^{tree}`, `${ref}:worktree`);
  return files.filter(({ submodule, path }) => !(submodule && folders.has(path)));
}
