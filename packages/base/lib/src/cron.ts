/**
 * Cron patterns (five fields) and times of day in a time zone. A pattern with one fixed time fires once a day across
 * daylight-saving changes: a skipped time fires at the end of the gap, and a repeated time fires at its first
 * occurrence. Patterns with several times a day follow the wall clock: skipped times do not fire, repeated times fire
 * twice.
 */
import { Cron } from "croner";

/** Returns why the pattern is invalid, or null if it is valid. */
export function cronProblem(pattern: string): string | null {
  const fields = pattern.trim().split(/\s+/);
  if (pattern.trim() === "" || fields.length !== 5) return `it has ${plain(fields)}`;
  try {
    const cron = new Cron(pattern, { mode: "5-part", paused: true });
    return cron.nextRun(new Date(0)) === null ? "no such day ever comes" : null;
  } catch (error) {
    return (error instanceof Error ? error.message : String(error)).replace(/^CronPattern: /, "");
  }
}

export type Rhythm = {
  /** Returns the first time after `after`, or null if there is none. */
  next(after: number): number | null;
  /** Returns the last `count` times before `time`, oldest first. */
  before(time: number, count: number): number[];
};

/** Throws if the pattern or the time zone is invalid. */
export function cronRhythm(pattern: string, timezone: string): Rhythm {
  const cron = new Cron(pattern, { mode: "5-part", timezone, paused: true });
  return {
    next: (after) => cron.nextRun(new Date(after))?.getTime() ?? null,
    before: (time, count) =>
      cron
        .previousRuns(count, new Date(time))
        .map((date) => date.getTime())
        .reverse(),
  };
}

/**
 * Parses an ISO time. Without an offset, it is a local time in the zone. Returns null if the text is not a valid time.
 */
export function zonedTime(text: string, timezone: string): number | null {
  if (!isoTime.test(text) || Number.isNaN(Date.parse(text))) return null;
  if (/(Z|[+-]\d{2}:\d{2})$/.test(text)) return Date.parse(text);
  try {
    return new Cron(text, { timezone, paused: true }).getOnce()?.getTime() ?? null;
  } catch {
    return null;
  }
}

export function isTimezone(value: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: value });
    return true;
  } catch {
    return false;
  }
}

const isoTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?$/;

function plain(fields: readonly string[]): string {
  const count = fields.filter((field) => field !== "").length;
  return count === 1 ? "one field" : `${count} fields`;
}
