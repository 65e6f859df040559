/** The delay before a model call is retried. */
import { type Backoff, backoffMs } from "@aegis/lib/backoff.ts";

export const maxRetries = 5;

/** If a server asks for a longer wait, the call fails so that a person notices. */
export const longestWaitMs = 5 * 60_000;

const backoff: Backoff = { firstMs: 1_000, longestMs: 30_000 };

/**
 * The delay the server asked for, or 1, 2, 4… seconds minus up to half at random, so that agents that were refused
 * together do not retry together. `attempt` counts from 0; `random` is in [0, 1).
 */
export function retryDelay(attempt: number, retryAfterMs: number | null, random: number): number {
  if (retryAfterMs !== null) return retryAfterMs;
  return backoffMs(backoff, attempt + 1, () => random);
}

/** `Retry-After` in milliseconds from `now`: seconds, a date, or the `-ms` form of some vendors. */
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
