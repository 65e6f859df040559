/**
 * Limits how many harnesses start in parallel. Starting one uses a processor for a second or more, so a daemon that
 * resumes many sessions together would otherwise slow all of them down and exceed their start timeouts.
 */
import type { Clock } from "@aegis/lib/clock.ts";

export type OpeningsOptions = {
  clock: Clock;
  /** How many may start in parallel. */
  most: number;
  /** A start that takes longer no longer counts: a harness that waits for its network does not delay the others. */
  longestMs?: number;
};

const defaultLongestMs = 15_000;

export class Openings {
  readonly #clock: Clock;
  readonly #most: number;
  readonly #longestMs: number;
  readonly #waiting = new Set<() => void>();
  #underWay = 0;

  constructor({ clock, most, longestMs = defaultLongestMs }: OpeningsOptions) {
    this.#clock = clock;
    this.#most = most;
    this.#longestMs = longestMs;
  }

  /**
   * Calls `open` when a slot is free, first come, first served. Rejects without calling it if the signal aborts first.
   */
  async run<T>(open: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#enter(signal);
    const over = new AbortController();
    const leave = this.#leaveOnce();
    this.#clock.sleep(this.#longestMs, over.signal).then(leave, () => {});
    try {
      return await open();
    } finally {
      over.abort();
      leave();
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#underWay < this.#most) {
      this.#underWay += 1;
      return;
    }
    // A finished start hands its slot to the next one, so the count does not change.
    await new Promise<void>((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = () => {
        this.#waiting.delete(enter);
        reject(signal.reason);
      };
      this.#waiting.add(enter);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  #leaveOnce(): () => void {
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      const [next] = this.#waiting;
      if (next === undefined) {
        this.#underWay -= 1;
        return;
      }
      this.#waiting.delete(next);
      next();
    };
  }
}
