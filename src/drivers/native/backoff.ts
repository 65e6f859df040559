/** How long to wait before a model call is tried again. */

export const maxRetries = 5;

/** A server that asks for more than this is not waited for: a person should know instead. */
export const longestWaitMs = 5 * 60_000;

const firstWaitMs = 1000;
const longestBackoffMs = 30_000;

/**
 * What the server asked for, or 1, 2, 4… seconds with up to half of it taken off at random, so that many agents that
 * were refused together do not come back together. `attempt` counts from 0; `random` is in [0, 1).
 */
export function retryDelay(attempt: number, retryAfterMs: number | null, random: number): number {
  if (retryAfterMs !== null) return retryAfterMs;
  const full = Math.min(longestBackoffMs, firstWaitMs * 2 ** attempt);
  return Math.round(full * (1 - random / 2));
}

/** `Retry-After` as milliseconds from `now`: seconds, a date, or the `-ms` form some vendors add. */
export function retryAfter(headers: Readonly<Record<string, string>> | undefined, now: number): number | null {
  if (headers === undefined) return null;
  const exact = Number.parseFloat(headers["retry-after-ms"] ?? "");
  if (Number.isFinite(exact) && exact >= 0) return Math.ceil(exact);
  const text = headers["retry-after"]?.trim();
  if (text === undefined || text === "") return null;
  if (/^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number.parseFloat(text) * 1000);
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
