/** How long a failed task waits before it is tried again. */

const firstDelayMs = 1_000;
const longestDelayMs = 5 * 60_000;

/** Twice as long each time, less up to half of it by chance, so that tasks that failed together do not return together. */
export function backoffMs(failures: number, random: () => number): number {
  const full = Math.min(firstDelayMs * 2 ** (failures - 1), longestDelayMs);
  return Math.round(full * (1 - random() / 2));
}
