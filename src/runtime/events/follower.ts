/** Works in the background when the event log has news: one at a time, and once more before it ends. */
import type { Event } from "../../contract/event.ts";
import type { Store } from "../../store/store.ts";

export type FollowerOptions = {
  store: Pick<Store, "onCommit">;
  /** Takes note of what there is to do. */
  note: (events: readonly Event[]) => void;
  isBehind: () => boolean;
  /** Must not throw: what it could not do stays to be done, with the next commit or at the close. */
  work: () => Promise<void>;
};

export class Follower {
  readonly #options: FollowerOptions;
  readonly #unfollow: () => void;
  #working: Promise<void> | null = null;
  #again = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#unfollow = options.store.onCommit((events) => {
      options.note(events);
      this.wake();
    });
  }

  wake(): void {
    if (!this.#options.isBehind()) return;
    if (this.#working === null) this.#working = this.#work();
    else this.#again = true;
  }

  /** Does what is still to be done, then follows no more. */
  async close(): Promise<void> {
    this.#unfollow();
    await this.#working;
    this.wake();
    await this.#working;
  }

  async #work(): Promise<void> {
    do {
      this.#again = false;
      await this.#options.work();
    } while (this.#again && this.#options.isBehind());
    this.#working = null;
  }
}
