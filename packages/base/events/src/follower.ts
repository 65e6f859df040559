/**
 * Runs background work after commits to the event log: one run at a time, and one more if events arrive during a run.
 */
import type { Event, EventType } from "@aegis/contract/event.ts";
import type { Store } from "@aegis/store/store.ts";

export type FollowerOptions = {
  store: Pick<Store, "onCommit">;
  /** Ignores events of other types. Without it, it follows every event. */
  types?: readonly EventType[];
  /** Records what the events require. */
  note: (events: readonly Event[]) => void;
  isBehind: () => boolean;
  /** Must not throw. Work that fails stays pending until the next commit or the close. */
  work: () => Promise<void>;
  /** Waits before each run, so that the commits of a turn share one. */
  gatherMs?: number;
};

export class Follower {
  readonly #options: FollowerOptions;
  readonly #unfollow: () => void;
  #working: Promise<void> | null = null;
  #again = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#unfollow = options.store.onCommit((events) => {
      options.note(events);
      this.wake();
    }, options.types);
  }

  wake(): void {
    if (!this.#options.isBehind()) return;
    const { gatherMs } = this.#options;
    if (this.#working !== null) this.#again = true;
    else if (gatherMs === undefined) this.#begin();
    else this.#timer ??= setTimeout(() => this.#begin(), gatherMs);
  }

  /** Finishes pending work, then stops following. */
  async close(): Promise<void> {
    this.#unfollow();
    await this.#working;
    if (this.#options.isBehind()) this.#begin();
    await this.#working;
  }

  #begin(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#working ??= this.#work();
  }

  async #work(): Promise<void> {
    this.#again = false;
    await this.#options.work();
    this.#working = null;
    if (this.#again) this.wake();
  }
}
