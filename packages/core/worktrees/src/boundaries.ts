/**
 * Records the state of a session's working tree when a turn begins and when it ends. The boundaries of a folder form one
 * line: between two of them the set of open turns does not change.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import type { SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { hasRepository, openRepository, type Repository } from "@aegis/lib/git/repository.ts";
import { GitRunError, type RunGit } from "@aegis/lib/git/run.ts";
import { type Snapshot, takeSnapshot } from "@aegis/lib/git/snapshot.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { SerialByKey } from "@aegis/lib/serial.ts";
import { isHere } from "@aegis/nodes/node-of.ts";
import type { BoundaryRow, Store } from "@aegis/store/store.ts";

export type BoundariesOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  git: RunGit;
  /** The project's folder. */
  root: string;
};

/** After this time a tree is no longer kept, and the changes of its turns can no longer be shown. */
const keepMs = 30 * 24 * 60 * 60 * 1000;
/** A turn waits at most this long for one git command. */
const edgeTimeoutMs = 15_000;
const forgottenPerStart = 5_000;

export class Boundaries {
  readonly #options: BoundariesOptions;
  readonly #serial = new SerialByKey();
  readonly #name: string;

  constructor(options: BoundariesOptions) {
    this.#options = options;
    this.#name = createHash("sha256").update(options.root).digest("hex").slice(0, 12);
  }

  /** A turn begins in a folder of a repository. A failure of git is recorded and does not stop the turn. */
  async open(session: SessionId, turn: TurnId, folder: string): Promise<void> {
    await this.#recorded(folder, { session, turn, edge: "open" });
  }

  /** The same for its end. Null if its beginning is not recorded, or the repository is gone. */
  async close(session: SessionId, turn: TurnId): Promise<BoundaryRow | null> {
    const open = await this.#options.store.read.boundaries.ofTurn(turn, "open");
    if (open === null || !hasRepository(open.folder)) return null;
    return this.#recorded(open.folder, { session, turn, edge: "close" });
  }

  /** Ends the turns that a dead daemon left open, after their processes were ended. */
  async recover(): Promise<void> {
    const { store } = this.#options;
    // The session may have moved to another node since; the folder has not.
    for (const { folder, session, turn, node } of await store.read.boundaries.unclosed())
      if (node !== null || isHere(store, await store.read.sessions.get(session)))
        await this.#recorded(folder, { session, turn, edge: "close" });
  }

  /** Drops trees that are older than 30 days. */
  async forgetOld(): Promise<void> {
    const { store, clock, git, log } = this.#options;
    const old = await store.read.boundaries.before(clock.now() - keepMs, forgottenPerStart);
    for (const folder of new Set(old.map((row) => row.folder))) {
      const rows = old.filter((row) => row.folder === folder);
      try {
        const input = rows.map((row) => `delete ${refOf(row)}\n`).join("");
        await (await openRepository(git, folder)).git(["update-ref", "--stdin"], { input });
        await store.transact(async (tx) => {
          for (const { position } of rows) await tx.boundaries.forget(position, "it is older than 30 days");
        });
      } catch (error) {
        log.warn("old snapshots could not be dropped", { folder, error: errorText(error) });
      }
    }
  }

  /** The present state, without a record of it. */
  async now(folder: string, opened?: Repository): Promise<Snapshot> {
    const repository = opened ?? (await this.repository(folder));
    return this.#serial.run(repository.root, () => takeSnapshot(repository, { name: this.#name }));
  }

  /** For reading trees: those of a removed worktree are still in the project's repository. */
  repository(folder: string): Promise<Repository> {
    return openRepository(this.#options.git, existsSync(folder) ? folder : this.#options.root);
  }

  async #recorded(folder: string, edge: Pick<BoundaryRow, "session" | "turn" | "edge">): Promise<BoundaryRow | null> {
    const { store, clock, git, log } = this.#options;
    let repository: Repository | null = null;
    let problem: string | null = null;
    try {
      repository = await openRepository(git, folder);
    } catch (error) {
      problem = errorText(error);
    }
    const root = repository?.root ?? folder;
    return this.#serial.run(root, async () => {
      const made =
        repository === null
          ? null
          : await this.#snapshot(repository, edge).catch((error: unknown) => {
              problem = errorText(error);
              if (!(error instanceof GitRunError)) log.error("a snapshot failed", { ...edge, error: problem });
              return null;
            });
      const { skipped = [], dirty_submodules = [], filters_off = [] } = made ?? {};
      const row = {
        ...edge,
        folder: root,
        tree: made?.tree ?? null,
        head: made?.head ?? null,
        problem,
        detail: { skipped, dirty_submodules, filters_off },
        at: clock.now(),
      };
      await store.transact((tx) => tx.boundaries.insert(row));
      return store.read.boundaries.ofTurn(edge.turn, edge.edge);
    });
  }

  async #snapshot(repository: Repository, edge: Pick<BoundaryRow, "session" | "turn" | "edge">): Promise<Snapshot> {
    const made = await takeSnapshot(repository, { name: this.#name, timeoutMs: edgeTimeoutMs });
    // Without a reference, garbage collection would remove the tree.
    await repository.git(["update-ref", refOf(edge), made.tree]);
    return made;
  }
}

/** A reference to a tree is not listed by `git log --all` or `git branch`. */
function refOf({ session, turn, edge }: Pick<BoundaryRow, "session" | "turn" | "edge">): string {
  return `refs/aegis/turns/${session}/${turn}-${edge}`;
}
