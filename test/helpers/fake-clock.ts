/** A clock that stands still until it is told to go on. */
import type { Clock } from "@aegis/lib/clock.ts";

export type FakeClock = Clock & {
  /**
   * Moves time and lets what woke up run, in the order of waking; also what it puts to sleep within that time.
   * `settled` waits for what one due time started, before the clock goes on to the next.
   */
  advance(ms: number, settled?: () => Promise<void>): Promise<void>;
  /** Resolves once at least `count` sleepers wait: only then does advancing reach them. */
  sleepers(count: number): Promise<void>;
  /** Sets the clock to another time, as a person does. Sleepers sleep as long as before. */
  set(by: number): void;
  /** How many sleep now. */
  readonly sleeping: number;
};

type Sleeper = { at: number; wake: () => void };

export function fakeClock(start = 0): FakeClock {
  let now = start;
  let sleeping: Sleeper[] = [];
  let waiting: { count: number; resolve: () => void }[] = [];

  const announce = () => {
    for (const waiter of waiting) if (sleeping.length >= waiter.count) waiter.resolve();
    waiting = waiting.filter((waiter) => sleeping.length < waiter.count);
  };

  return {
    now: () => now,
    get sleeping() {
      return sleeping.length;
    },
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const sleeper = { at: now + ms, wake: () => {} };
        const leave = () => {
          sleeping = sleeping.filter((other) => other !== sleeper);
          signal?.removeEventListener("abort", onAbort);
        };
        const onAbort = () => {
          leave();
          reject(signal?.reason);
        };
        sleeper.wake = () => {
          leave();
          resolve();
        };
        signal?.addEventListener("abort", onAbort, { once: true });
        sleeping.push(sleeper);
        announce();
      }),
    async advance(ms, settled) {
      const end = now + ms;
      while (true) {
        await settle();
        await settled?.();
        const next = sleeping.toSorted((a, b) => a.at - b.at)[0];
        if (next === undefined || next.at > end) break;
        now = next.at;
        next.wake();
      }
      // What `settled` let pass may have gone beyond it.
      now = Math.max(now, end);
      await settle();
      await settled?.();
    },
    set(by) {
      now += by;
      for (const sleeper of sleeping) sleeper.at += by;
    },
    sleepers: (count) =>
      new Promise((resolve) => {
        waiting.push({ count, resolve });
        announce();
      }),
  };
}

/** Lets promises and pending input run. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
