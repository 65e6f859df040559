/** Work nobody waits for: one after the other in each lane, side by side between lanes, and never without a bound. */
import { aborted } from "../../lib/until-aborted.ts";

export class Lanes {
  readonly #limit: number;
  readonly #onLeftOut: (owner: string, left: number) => void;
  readonly #tails = new Map<string, Promise<void>>();
  readonly #waiting = new Map<string, number>();
  readonly #leftOut = new Map<string, number>();

  /** `onLeftOut` is told once an owner that had too much waiting has caught up. */
  constructor(limit: number, onLeftOut: (owner: string, left: number) => void) {
    this.#limit = limit;
    this.#onLeftOut = onLeftOut;
  }

  /** The work must not reject. What is too much for its owner is left out. */
  add(owner: string, lane: string, work: () => Promise<void>): void {
    const waiting = this.#waiting.get(owner) ?? 0;
    if (waiting >= this.#limit) {
      this.#leftOut.set(owner, (this.#leftOut.get(owner) ?? 0) + 1);
      return;
    }
    this.#waiting.set(owner, waiting + 1);
    const key = JSON.stringify([owner, lane]);
    const tail = (this.#tails.get(key) ?? Promise.resolve()).then(work).finally(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
      this.#done(owner);
    });
    this.#tails.set(key, tail);
  }

  /** Resolves when nothing waits, or at the deadline, with how much still does. */
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
