/** Exponential backoff: the delay before the next attempt. */

export type Backoff = {
  /** The delay after the first failure. */
  firstMs: number;
  /** The maximum delay. */
  longestMs: number;
  /** The growth factor between two delays. Default: 2. */
  factor?: number;
};

/**
 * Returns the delay after `failures` consecutive failures, counted from 1. `random` returns numbers in [0, 1) and
 * shortens the delay by up to half (jitter), so that callers that failed together do not retry together. Without it the
 * delay is exact.
 */
export function backoffMs(backoff: Backoff, failures: number, random: () => number = () => 0): number {
  const { firstMs, longestMs, factor = 2 } = backoff;
  const full = Math.min(longestMs, firstMs * factor ** (failures - 1));
  return Math.round(full * (1 - random() / 2));
}
