/** Formats times and durations, and parses typed durations. */
import { durationMs } from "@aegis/lib/duration.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** `just now`, `12s ago`, `5m ago`, `3h ago`, `2d ago`, then the date. */
export function relativeTime(at: number, now: number): string {
  const age = now - at;
  if (age < -second) return `in ${duration(-age)}`;
  if (age < 5 * second) return "just now";
  if (age < 7 * day) return `${duration(age)} ago`;
  return new Date(at).toISOString().slice(0, 10);
}

/** The largest unit that fits: `850ms`, `12s`, `5m`, `3h`, `2d`. */
export function duration(ms: number): string {
  if (ms < second) return `${Math.round(ms)}ms`;
  if (ms < minute) return `${Math.floor(ms / second)}s`;
  if (ms < hour) return `${Math.floor(ms / minute)}m`;
  if (ms < day) return `${Math.floor(ms / hour)}h`;
  return `${Math.floor(ms / day)}d`;
}

/** `14:03:27` in the machine's time zone. */
export function clockTime(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}

/** Milliseconds of a duration of at most one day, such as `90`, `90s`, `1.5m` and `2h`; null for any other text. */
export function parseDuration(text: string): number | null {
  const ms = durationMs(text);
  return ms !== null && ms <= day ? ms : null;
}
