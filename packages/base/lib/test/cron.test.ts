import { describe, expect, it } from "vitest";
import { cronProblem, cronRhythm, isTimezone, zonedTime } from "../src/cron.ts";

/** The next times as UTC. */
function times(pattern: string, timezone: string, after: string, count: number): string[] {
  const rhythm = cronRhythm(pattern, timezone);
  const found: string[] = [];
  for (let at = rhythm.next(Date.parse(after)); at !== null && found.length < count; at = rhythm.next(at))
    found.push(new Date(at).toISOString().slice(0, 16));
  return found;
}

describe("when clocks are changed", () => {
  const spring = "a daily time in the gap of spring comes once, at its end";
  const autumn = "a daily time that comes twice in autumn counts once, the first time";
  it.each([
    ["Europe/Berlin", spring, "30 2 * * *", "2026-03-27T12:00Z", "03-28T01:30 03-29T01:00 03-30T00:30"],
    ["America/New_York", spring, "30 2 * * *", "2026-03-06T12:00Z", "03-07T07:30 03-08T07:00 03-09T06:30"],
    ["Australia/Lord_Howe", spring, "15 2 * * *", "2026-10-02T12:00Z", "10-02T15:45 10-03T15:30 10-04T15:15"],
    ["Europe/Berlin", autumn, "30 2 * * *", "2026-10-23T12:00Z", "10-24T00:30 10-25T00:30 10-26T01:30"],
    ["America/New_York", autumn, "30 1 * * *", "2026-10-30T12:00Z", "10-31T05:30 11-01T05:30 11-02T06:30"],
    ["Australia/Lord_Howe", autumn, "45 1 * * *", "2026-04-02T18:00Z", "04-03T14:45 04-04T14:45 04-05T15:15"],
  ])("%s: %s", (timezone, _, pattern, after, expected) => {
    expect(times(pattern, timezone, after, 3)).toEqual(expected.split(" ").map((time) => `2026-${time}`));
  });

  it.each([
    ["Europe/Berlin", "*/30 * * * *", "2026-10-24T23:45Z", 6],
    ["Europe/Berlin", "*/30 * * * *", "2026-03-29T00:15Z", 6],
    ["America/New_York", "*/30 * * * *", "2026-11-01T04:45Z", 6],
    ["Australia/Lord_Howe", "*/15 * * * *", "2026-04-04T13:50Z", 8],
    ["Australia/Lord_Howe", "*/15 * * * *", "2026-10-03T14:50Z", 8],
  ])("%s: %s goes on without a gap and without a double", (timezone, pattern, after, count) => {
    const found = times(pattern, timezone, after, count).map((time) => Date.parse(`${time}Z`));
    const steps = found.slice(1).map((time, index) => time - (found[index] ?? 0));
    expect(new Set(steps).size).toBe(1);
  });
});

describe("a rhythm", () => {
  it("is strictly after the moment given, to the millisecond", () => {
    const rhythm = cronRhythm("0 9 * * *", "UTC");
    const nine = Date.UTC(2026, 0, 5, 9);
    expect(rhythm.next(nine - 1)).toBe(nine);
    expect(rhythm.next(nine)).toBe(nine + 86_400_000);
    expect(rhythm.next(nine + 1)).toBe(nine + 86_400_000);
  });

  it("gives the newest times before a moment, oldest first", () => {
    const rhythm = cronRhythm("0 * * * *", "UTC");
    const noon = Date.UTC(2026, 0, 5, 12);
    expect(rhythm.before(noon, 3)).toEqual([9, 10, 11].map((hour) => Date.UTC(2026, 0, 5, hour)));
  });
});

describe("a pattern", () => {
  it.each(["0 9 * * 1-5", "*/5 * * * *", "0 0 29 2 *", "0 9 * * mon,fri", "15,45 8-18/2 1-7 jan-jun 7"])(
    "%s is one",
    (pattern) => expect(cronProblem(pattern)).toBeNull(),
  );

  it.each([
    ["", "it has 0 fields"],
    ["*", "it has one field"],
    ["* * * *", "it has 4 fields"],
    ["* * * * * *", "it has 6 fields"],
    ["@daily", "it has one field"],
    ["60 * * * *", "60"],
    ["0 25 * * *", "25"],
    ["0 9 * * 5-1", "5-1"],
    ["0 0 31 2 *", "no such day ever comes"],
    ["a b c d e", ""],
  ])("%j is none: %s", (pattern, words) => expect(cronProblem(pattern)).toContain(words));
});

describe("a time", () => {
  it("is a moment of its own with an offset, else one of the zone's clocks", () => {
    expect(zonedTime("2026-07-01T09:00:00Z", "America/New_York")).toBe(Date.UTC(2026, 6, 1, 9));
    expect(zonedTime("2026-07-01T09:00:00+02:00", "America/New_York")).toBe(Date.UTC(2026, 6, 1, 7));
    expect(zonedTime("2026-07-01T09:00", "America/New_York")).toBe(Date.UTC(2026, 6, 1, 13));
    expect(zonedTime("2026-01-01T09:00:00", "Europe/Berlin")).toBe(Date.UTC(2026, 0, 1, 8));
  });

  it.each(["", "tomorrow", "2026-13-01T00:00", "2026-07-01", "2026-07-01 09:00"])("%j is none", (text) =>
    expect(zonedTime(text, "UTC")).toBeNull(),
  );

  it("is in a zone of the world", () => {
    expect(isTimezone("Europe/Berlin")).toBe(true);
    expect(isTimezone("Mars/Base")).toBe(false);
  });
});
