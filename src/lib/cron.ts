/**
 * Cron rhythms and times of day in a zone of the world. Five fields; a rhythm of one fixed time keeps to once a day when
 * clocks are changed: a time that is skipped comes at the end of the gap, one that repeats comes the first time. Rhythms of
 * several times a day go on by the clock on the wall: what is skipped is left out, what repeats is repeated.
 */
import { Cron } from "croner";

/** Why the pattern is no rhythm, or null. */
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
  /** The first time after this one, or null when there is none. */
  next(after: number): number | null;
  /** The newest times before this one, oldest first. */
  before(time: number, count: number): number[];
};

/** Throws for a pattern or a zone that is none. */
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

/** The moment that an ISO time names; without an offset it is a time of the zone's clocks. Null when it is none. */
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
