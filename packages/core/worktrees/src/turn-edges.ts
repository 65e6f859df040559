/** What a turn does to working copies at its edges. In a folder without git, a turn without claims does nothing here. */
import type { SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { hasRepository } from "@aegis/lib/git/repository.ts";
import type { Logger } from "@aegis/lib/log.ts";
import { folderOf, type SessionExtensions, type TurnEdges } from "@aegis/sessions/extensions.ts";
import type { Store } from "@aegis/store/store.ts";
import { whileAway } from "@aegis/store/transact.ts";
import type { Boundaries } from "./boundaries.ts";
import type { SessionChanges } from "./changes.ts";
import type { FileClaims } from "./claims/claims.ts";

export type CopyEdgesOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  /** Aborts when the daemon is forced to stop. */
  signal: AbortSignal;
  /** The project's folder. */
  root: string;
  extensions: SessionExtensions;
  boundaries: Boundaries;
  changes: SessionChanges;
  claims: FileClaims;
  /** The sessions whose worktree a landing uses; each promise resolves when it no longer does. */
  landing: ReadonlyMap<SessionId, Promise<void>>;
};

export class CopyEdges implements TurnEdges {
  readonly #options: CopyEdgesOptions;
  /** The turns that began in a repository. */
  readonly #begun = new Set<TurnId>();

  constructor(options: CopyEdgesOptions) {
    this.#options = options;
  }

  async begins(session: SessionId, turn: TurnId): Promise<void> {
    const { extensions, root, boundaries, landing, clock, log, signal } = this.#options;
    // Before the state of the files is recorded: a landing must not change them during the turn.
    await landing.get(session);
    // Without a repository, no session has a worktree.
    if (!hasRepository(root)) return;
    const repetition = { clock, log, signal, what: "the look for a turn's folder", details: { session } };
    const { cwd } = await whileAway(() => folderOf(extensions, session, root), repetition);
    this.#begun.add(turn);
    await boundaries.open(session, turn, cwd);
  }

  async ends(session: SessionId, turn: TurnId): Promise<void> {
    const { store, clock, boundaries, changes, claims } = this.#options;
    if (claims.holders.has(session)) await claims.turnEnded(session);
    if (!this.#begun.delete(turn) || (await boundaries.close(session, turn)) === null) return;
    const data = { turn, ...(await changes.counts(session, turn)) };
    await store.transact((tx) => tx.events.append({ type: "changes.recorded", session, data }, clock.now()));
  }
}
