import type { ScheduleSettings } from "@aegis/contract/schedule.ts";
import { cronRhythm } from "@aegis/lib/cron.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide, firstCursor, graceMs, mostSlots, upcoming } from "../src/slots.ts";
import { settings } from "./kit.ts";

const hour = 3_600_000;
const start = Date.UTC(2026, 0, 5, 0, 30);
const hourly = (change: Partial<ScheduleSettings> = {}) => settings({ cron: "0 * * * *", ...change });

function decided(entry: ScheduleSettings, cursor: number, now: number, fires = 0): string[] {
  return decide(entry, { cursor, fires }, now).map((one) => {
    const at = new Date(one.slot).toISOString().slice(11, 16);
    return `${at} ${one.what === "skip" ? `skip: ${one.reason.split(/[:;,]/, 1)[0]}` : one.late ? "late" : "fire"}`;
  });
}

describe("slots that have come", () => {
  it("fire when they are seen within a minute, and nothing fires before", () => {
    expect(decided(hourly(), start, start + hour / 2 - 1)).toEqual([]);
    expect(decided(hourly(), start, start + hour / 2)).toEqual(["01:00 fire"]);
    expect(decided(hourly(), start, start + hour / 2 + graceMs - 1)).toEqual(["01:00 fire"]);
    expect(decided(hourly(), start, start + hour / 2 + graceMs)).toEqual(["01:00 skip: missed"]);
  });

  it.each([
    ["skip", ["01:00 skip: missed", "02:00 skip: missed", "03:00 skip: missed"]],
    ["once", ["01:00 skip: missed", "02:00 skip: missed", "03:00 late"]],
    ["all", ["01:00 late", "02:00 late", "03:00 late"]],
  ] as const)("that were missed follow the policy %s", (missed, expected) => {
    expect(decided(hourly({ missed }), start, start + 3 * hour)).toEqual(expected);
  });

  it("need not be made up for once when one is on time", () => {
    expect(decided(hourly({ missed: "once" }), start, start + 2.5 * hour)).toEqual([
      "01:00 skip: missed",
      "02:00 skip: missed",
      "03:00 fire",
    ]);
  });

  it("are looked at one by one only as far as anybody would read", () => {
    const decisions = decide(settings({ cron: "* * * * *" }), { cursor: start, fires: 0 }, start + 365 * 24 * hour);
    expect(decisions).toHaveLength(mostSlots + 1);
    expect(decisions[0]).toMatchObject({ slot: start + 60_000, what: "skip", reason: /as was every slot before/ });
    expect(decisions.at(-1)).toMatchObject({ slot: start + 365 * 24 * hour, what: "fire", late: false });
    expect(new Set(decisions.map((one) => one.slot)).size).toBe(decisions.length);
  });

  it("of one moment always fire, however late", () => {
    const at = settings({ cron: null, fire_at: start - 30 * 24 * hour });
    expect(decide(at, { cursor: firstCursor(at, start), fires: 0 }, start)).toEqual([
      { slot: start - 30 * 24 * hour, what: "fire", late: true },
    ]);
    expect(decide(at, { cursor: start, fires: 1 }, start + hour)).toEqual([]);
  });
});

describe("a lifecycle", () => {
  it("ends with its last firing; what is skipped does not count", () => {
    const twice = hourly({ lifecycle: { fires: 2 }, missed: "all" });
    expect(decided(twice, start, start + 5 * hour)).toEqual(["01:00 late", "02:00 late"]);
    expect(upcoming(twice, { cursor: start, fires: 2 }, 5)).toEqual([]);
    expect(upcoming(twice, { cursor: start, fires: 1 }, 5)).toHaveLength(1);
    const once = hourly({ lifecycle: "once" });
    expect(decided(once, start, start + 2.5 * hour)).toEqual([
      "01:00 skip: missed",
      "02:00 skip: missed",
      "03:00 fire",
    ]);
    expect(decided(once, start, start + 2.5 * hour, 1)).toEqual([]);
  });

  it("until a moment includes it, and nothing after", () => {
    const until = hourly({ lifecycle: { until: start + 1.5 * hour }, missed: "all" });
    expect(decided(until, start, start + 9 * hour)).toEqual(["01:00 late", "02:00 late"]);
    expect(upcoming(until, { cursor: start, fires: 0 }, 9)).toHaveLength(2);
  });
});

it("each slot is decided exactly once, in order, however often anybody looks", () => {
  const patterns = ["*/7 * * * *", "0 * * * *", "30 2 * * *", "15 1,2 * * *", "0 9 * * 1-5"];
  const zones = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"];
  const changes = [Date.UTC(2026, 2, 28, 20), Date.UTC(2026, 9, 24, 20), Date.UTC(2026, 10, 1, 0)];
  fc.assert(
    fc.property(
      fc.constantFrom(...patterns),
      fc.constantFrom(...zones),
      fc.constantFrom(...changes),
      fc.constantFrom("skip", "once", "all" as const),
      fc.array(fc.integer({ min: 1, max: 4 * hour }), { minLength: 1, maxLength: 8 }),
      (cron, timezone, from, missed, steps) => {
        const entry = settings({ cron, timezone, missed });
        const end = from + steps.reduce((sum, step) => sum + step, 0);
        const seen: number[] = [];
        let cursor = from;
        for (const step of steps) {
          const now = cursor + step;
          seen.push(...decide(entry, { cursor, fires: 0 }, now).map((one) => one.slot));
          cursor = now;
        }
        const rhythm = cronRhythm(cron, timezone);
        const all: number[] = [];
        for (let slot = rhythm.next(from); slot !== null && slot <= end; slot = rhythm.next(slot)) all.push(slot);
        expect(seen).toEqual(all);
      },
    ),
    { numRuns: 80 },
  );
});
