/**
 * Removes worktrees. Nothing is removed until a rescue of it exists: the reference comes first, then the row, then one
 * rename that takes the folder away, and then the deletion. Every step can be repeated after a crash.
 */
import { existsSync } from "node:fs";
import { readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Worktree } from "@aegis/contract/worktree.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { openRepository, type Repository } from "@aegis/lib/git/repository.ts";
import { line, type RunGit } from "@aegis/lib/git/run.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { SerialByKey } from "@aegis/lib/serial.ts";
import { isHere, requireHere } from "@aegis/nodes/node-of.ts";
import type { Store } from "@aegis/store/store.ts";
import type { Boundaries } from "./boundaries.ts";
import { commitHasLanded, filesHaveLanded, type LandedWork } from "./landing/landed.ts";
import type { Rescues } from "./rescue/rescues.ts";

export type RemovalOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  git: RunGit;
  root: string;
  boundaries: Boundaries;
  rescues: Rescues;
  /** Ends what the session still does. Resolves when its processes are gone. */
  settle: (session: SessionId) => Promise<void>;
};

/** A worktree with unlanded work of a closed session is kept this long. */
const keepMs = 14 * 24 * 60 * 60 * 1000;

const mostLandings = 10_000;

export class Removal {
  readonly #options: RemovalOptions;
  readonly #serial = new SerialByKey();

  constructor(options: RemovalOptions) {
    this.#options = options;
  }

  /** Removes the worktree of a closed session. Throws `conflict` for an open one. */
  async remove(session: SessionId, reason: string): Promise<Worktree> {
    const { read } = this.#options.store;
    const [row, owner] = [await read.worktrees.get(session), await read.sessions.get(session)];
    if (row === null || owner === null) throw new AegisError("not_found", "the session has no worktree");
    if (owner.closed_at === null)
      throw new AegisError("conflict", `session "${owner.handle}" is open and works in it`, {
        hint: `close it first: aegis close ${owner.handle}`,
      });
    requireHere(this.#options.store, owner);
    await this.#options.settle(session);
    return this.#serial.run(session, () => this.#remove(session, owner.handle, reason));
  }

  /** Removes what has no work that is not elsewhere, and what a closed session left long ago. */
  async tidy(session: SessionId): Promise<void> {
    const { store, clock, log, settle } = this.#options;
    try {
      const [row, owner] = [await store.read.worktrees.get(session), await store.read.sessions.get(session)];
      if (row === null || owner === null || owner.closed_at === null || row.state === "removed") return;
      if (!isHere(store, owner)) return;
      await settle(session);
      const isOld = owner.closed_at < clock.now() - keepMs;
      const isIdle = row.state === "new" || row.state === "removing" || isOld || (await this.#hasNothing(row));
      if (isIdle) await this.remove(session, isOld ? "the session was closed 14 days ago" : "the session was closed");
    } catch (error) {
      log.warn("a worktree was kept", { session, error: errorText(error) });
    }
  }

  /** For worktrees whose session was closed, or whose removal began, while no daemon ran. */
  async recover(): Promise<void> {
    for (const { session } of await this.#options.store.read.worktrees.list()) await this.tidy(session);
  }

  async #remove(session: SessionId, handle: string, reason: string): Promise<Worktree> {
    const { store, clock, git, root, rescues } = this.#options;
    const row = await store.read.worktrees.get(session);
    if (row === null) throw new AegisError("not_found", "the session has no worktree");
    if (row.state === "removed") return row;
    const { dir } = row;
    const isThere = dir !== null && existsSync(join(dir, ".git"));
    if (!isThere && dir !== null && existsSync(dir))
      throw new AegisError("conflict", `${dir} is no longer a worktree, so it was left alone`);
    // Also if an earlier removal was interrupted: the folder may have changed since.
    if (isThere) {
      const { ref, files } = await this.#rescued(session, dir, { handle, reason }, rescues);
      await store.transact(async (tx) => {
        await tx.worktrees.update(session, { state: "removing", problem: null });
        await tx.events.append({ type: "rescue.saved", session, data: { ref, files, reason } }, clock.now());
      });
    }
    if (dir !== null) {
      const aside = `${dir}.removing`;
      if (existsSync(join(dir, ".git"))) await rename(dir, aside);
      await rm(aside, { recursive: true, force: true, maxRetries: 3 });
      const repository = await openRepository(git, root);
      await forget(repository, dir);
      await this.#dropBranch(repository, row);
    }
    await store.transact(async (tx) => {
      await tx.worktrees.update(session, { state: "removed", port: null });
      await tx.events.append({ type: "worktree.removed", session, data: { dir, reason } }, clock.now());
    });
    return { ...row, state: "removed", port: null };
  }

  async #rescued(session: SessionId, dir: string, about: { handle: string; reason: string }, rescues: Rescues) {
    const { store, clock } = this.#options;
    try {
      return await rescues.save(dir, { session, ...about });
    } catch (error) {
      const problem = `not removed, because its files could not be rescued: ${errorText(error)}`;
      await store.transact(async (tx) => {
        await tx.worktrees.update(session, { problem });
        await tx.events.append({ type: "rescue.failed", session, data: { problem } }, clock.now());
      });
      throw new AegisError("conflict", problem, { cause: error });
    }
  }

  /** Whether all its files and commits are on the branch from which it started, in one form or another. */
  async #hasNothing(row: Worktree): Promise<boolean> {
    const { git, boundaries } = this.#options;
    if (row.dir === null || !existsSync(join(row.dir, ".git"))) return false;
    const { tree, head, skipped } = await boundaries.now(row.dir);
    if (head === null || skipped.length > 0) return false;
    return filesHaveLanded(await openRepository(git, row.dir), await this.#landed(row), { head, tree });
  }

  async #landed({ session, base, target }: Worktree): Promise<LandedWork> {
    const known = await this.#options.store.read.landings.list(mostLandings);
    return { base, target, landings: known.filter((one) => one.session === session && one.state === "landed") };
  }

  /** A branch whose work is nowhere else is kept. */
  async #dropBranch(repository: Repository, row: Worktree): Promise<void> {
    if (row.branch === null) return;
    const ref = `refs/heads/${row.branch}`;
    const found = await repository.git(["rev-parse", "-q", "--verify", ref], { codes: [0, 1] });
    if (found.code !== 0) return;
    const commit = line(found);
    if (await commitHasLanded(repository, await this.#landed(row), commit))
      await repository.git(["update-ref", "-d", ref, commit]);
  }
}

/** Removes git's record of the worktree. `git worktree prune` would also remove records of other worktrees. */
async function forget({ commonDir }: Repository, dir: string): Promise<void> {
  const folder = join(commonDir, "worktrees");
  for (const name of await readdir(folder).catch(() => [])) {
    const place = await readFile(join(folder, name, "gitdir"), "utf8").catch(() => "");
    if (place.trim() === join(dir, ".git")) await rm(join(folder, name), { recursive: true, force: true });
  }
}
