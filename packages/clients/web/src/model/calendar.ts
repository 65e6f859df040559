/** A month of firings: what fired, and what is planned. Pure; days are those of the reader's time zone. */
import type { Firing } from "@aegis/contract/schedule.ts";

export type Slot = {
  name: string;
  at: number;
  /** How many slots of the schedule with this status the day has; `at` is the first of them. */
  times: number;
  status: Firing["status"] | "planned";
  /** What it started, if it is one firing: a run, a task or a session. */
  effect: string | null;
  /** Its result or its error. */
  outcome: string;
};

export type Day = { date: Date; inMonth: boolean; slots: readonly Slot[] };

export type Month = { year: number; month: number };

export function monthOf(at: number): Month {
  const date = new Date(at);
  return { year: date.getFullYear(), month: date.getMonth() };
}

export function shifted({ year, month }: Month, by: number): Month {
  return monthOf(new Date(year, month + by, 1).getTime());
}

/** Whole weeks from Monday to Sunday that contain the month. */
export function daysOf(
  { year, month }: Month,
  firings: readonly Firing[],
  planned: readonly { at: number; name: string }[],
): Day[] {
  const first = new Date(year, month, 1);
  const before = (first.getDay() + 6) % 7;
  const length = new Date(year, month + 1, 0).getDate();
  const byDay = Map.groupBy(
    [
      ...firings.map(({ schedule, slot, status, effect, error, result }) => ({
        name: schedule,
        at: slot,
        times: 1,
        status,
        effect,
        outcome: error ?? result ?? "",
      })),
      ...planned.map(({ at, name }): Slot => ({ name, at, times: 1, status: "planned", effect: null, outcome: "" })),
    ],
    ({ at }) => new Date(at).toDateString(),
  );
  return Array.from({ length: Math.ceil((before + length) / 7) * 7 }, (_, index) => {
    const date = new Date(year, month, 1 - before + index);
    return { date, inMonth: date.getMonth() === month, slots: joined(byDay.get(date.toDateString()) ?? []) };
  });
}

/** Slots of one schedule with one status are one entry: a schedule may fire each minute. */
function joined(slots: readonly Slot[]): Slot[] {
  const groups = Map.groupBy(
    slots.toSorted((a, b) => a.at - b.at),
    ({ name, status }) => `${status} ${name}`,
  );
  return [...groups.values()].flatMap((same) => {
    const [first] = same;
    if (first === undefined) return [];
    return same.length === 1 ? [first] : [{ ...first, times: same.length, effect: null, outcome: "" }];
  });
}

/** The schedules whose known slots end before the month does. */
export function unfinished(
  { year, month }: Month,
  planned: readonly { at: number; name: string }[],
  most: number,
): string[] {
  const end = new Date(year, month + 1, 1).getTime();
  return [...Map.groupBy(planned, ({ name }) => name)].flatMap(([name, slots]) =>
    slots.length >= most && slots.every(({ at }) => at < end) ? [name] : [],
  );
}
