/** Runs background work: in order within a lane, in parallel between lanes, with a bounded queue per owner. */
import { aborted } from "@aegis/lib/until-aborted.ts";

export class ObserverQueues {
  readonly #limit: number;
  readonly #onLeftOut: (owner: string, left: number) => void;
  readonly #tails = new Map<string, Promise<void>>();
  readonly #waiting = new Map<string, number>();
  readonly #leftOut = new Map<string, number>();

  /** `onLeftOut` is called when an owner that exceeded the limit has caught up. */
  constructor(limit: number, onLeftOut: (owner: string, left: number) => void) {
    this.#limit = limit;
    this.#onLeftOut = onLeftOut;
  }

  /** The work must not reject. Work beyond the owner's limit is dropped. Resolves when the work is done or dropped. */
  add(owner: string, lane: string, work: () => Promise<void>): Promise<void> {
    const waiting = this.#waiting.get(owner) ?? 0;
    if (waiting >= this.#limit) {
      this.#leftOut.set(owner, (this.#leftOut.get(owner) ?? 0) + 1);
      return Promise.resolve();
    }
    this.#waiting.set(owner, waiting + 1);
    const key = JSON.stringify([owner, lane]);
    const tail = (this.#tails.get(key) ?? Promise.resolve()).then(work).finally(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
      this.#done(owner);
    });
    this.#tails.set(key, tail);
    return tail;
  }

  /** Resolves when nothing is pending, or at the deadline, with the number of pending items. */
  async empty(deadline: AbortSignal): Promise<number> {
    const over = aborted(deadline);
    while (this.#tails.size > 0 && !deadline.aborted) await Promise.race([Promise.all(this.#tails.values()), over]);
    return [...this.#waiting.values()].reduce((sum, count) => sum + count, 0);
  }

  #done(owner: string): void {
    const waiting = (this.#waiting.get(owner) ?? 1) - 1;
    if (waiting > 0) {
      this.#waiting.set(owner, waiting);
      return;
    }
    this.#waiting.delete(owner);
    const left = this.#leftOut.get(owner);
    if (left === undefined) return;
    this.#leftOut.delete(owner);
    this.#onLeftOut(owner, left);
  }
}
