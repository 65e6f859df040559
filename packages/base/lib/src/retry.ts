/**
 * Does work again after a failure that may pass. For delays inside one process; a delay that must survive a restart is a
 * row with a due time, and needs only `backoffMs`.
 */
import { type Backoff, backoffMs } from "./backoff.ts";
import type { Clock } from "./clock.ts";

export type Retry = {
  backoff: Backoff;
  clock: Clock;
  /** When it aborts, the last error is thrown without another attempt. */
  signal?: AbortSignal;
  /** Whether another attempt after the delay may help. Otherwise the error is thrown. */
  mayRetry: (error: unknown, delayMs: number) => boolean;
  /** Called before each wait. */
  onWait?: (error: unknown, delayMs: number) => void;
};

export async function retry<T>(work: () => Promise<T>, options: Retry): Promise<T> {
  const { backoff, clock, signal, mayRetry, onWait = () => {} } = options;
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      const delayMs = backoffMs(backoff, failures);
      if (signal?.aborted || !mayRetry(error, delayMs)) throw error;
      onWait(error, delayMs);
      await clock.sleep(delayMs, signal).catch(() => {});
      if (signal?.aborted) throw error;
    }
  }
}
