/** Time as a dependency, so that tests can hold it still. */

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

/** Timers count in 32 bits, and by another clock than the one on the wall: long waits are taken in parts. */
const longestSleepMs = 3_600_000;

/** Resolves when the clock shows that time, however it is set meanwhile. */
export async function sleepUntil(
  clock: Clock,
  at: number,
  signal?: AbortSignal,
  partMs = longestSleepMs,
): Promise<void> {
  for (let left = at - clock.now(); left > 0; left = at - clock.now())
    await clock.sleep(Math.min(left, partMs), signal);
}
