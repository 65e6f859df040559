/** Times as people say them, and durations as they type them. */

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

/** `14:03:27` by the machine's clock. */
export function clockTime(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}

const units: Record<string, number> = { ms: 1, s: second, m: minute, h: hour };

/** Milliseconds of `90`, `90s`, `1.5m`, `2h`; null when it is none of these. A bare number counts seconds. */
export function parseDuration(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text.trim());
  if (match === null) return null;
  const ms = Number(match[1]) * (units[match[2] ?? "s"] ?? second);
  return ms > 0 && ms <= 24 * hour ? Math.round(ms) : null;
}
