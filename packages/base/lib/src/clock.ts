/** Time as a dependency, so that tests can control it. */

export interface Clock {
  now(): number;
  /** Resolves after `ms`, or rejects with the signal's reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      }, ms);
      signal?.addEventListener("abort", onAbort, { once: true });
    }),
};

/** Timers use a 32-bit delay and a monotonic clock, so long waits are split and checked against the wall clock. */
const longestSleepMs = 3_600_000;

/** Resolves when the clock reaches that time, even if the clock is changed meanwhile. */
export async function sleepUntil(clock: Clock, at: number, signal: AbortSignal): Promise<void> {
  for (let left = at - clock.now(); left > 0; left = at - clock.now())
    await clock.sleep(Math.min(left, longestSleepMs), signal);
}
