/** Computes the slots of a schedule and decides about those that are due. Pure. */
import type { ScheduleSettings } from "@aegis/contract/schedule.ts";
import { cronRhythm } from "@aegis/lib/cron.ts";

/** The progress of a schedule. */
export type Progress = {
  /** All slots up to this moment are decided. */
  cursor: number;
  /** Firings that count for the lifecycle. */
  fires: number;
};

export type Decision = { slot: number } & ({ what: "fire"; late: boolean } | { what: "skip"; reason: string });

/** A slot that is noticed within this time, for example after a restart, does not count as missed. */
export const graceMs = 60_000;
/** The most missed slots that are decided one by one. */
export const mostSlots = 1_000;

type Timing = Pick<ScheduleSettings, "cron" | "fire_at" | "timezone" | "lifecycle">;

/** The start position of a new schedule. A `fire_at` in the past still fires. */
export function firstCursor({ fire_at }: Timing, now: number): number {
  return fire_at === null ? now : fire_at - 1;
}

/** True if both fire at the same times. */
export function sameTiming(a: Timing, b: Timing): boolean {
  return a.cron === b.cron && a.fire_at === b.fire_at && a.timezone === b.timezone;
}

/** The next undecided slots within the lifecycle. */
export function upcoming(timing: Timing, progress: Progress, count: number): number[] {
  const slots: number[] = [];
  const most = Math.min(count, firesLeft(timing, progress));
  const source = slotSource(timing);
  for (let slot = source.next(progress.cursor); slot !== null && slots.length < most; slot = source.next(slot)) {
    if (slot > lastMoment(timing)) break;
    slots.push(slot);
  }
  return slots;
}

/** The decisions for all slots up to now, oldest first. */
export function decide(
  settings: Timing & Pick<ScheduleSettings, "missed">,
  progress: Progress,
  now: number,
): Decision[] {
  const { slots, unlisted } = due(settings, progress.cursor, Math.min(now, lastMoment(settings)));
  const [newest] = slots.slice(-1);
  if (newest === undefined) return [];
  const late = (slot: number) => now - slot >= graceMs;
  const catchesUp = settings.fire_at !== null || settings.missed === "all";
  const decisions = slots.map((slot): Decision => {
    if (!late(slot) && slot === newest) return { slot, what: "fire", late: false };
    if (catchesUp || (settings.missed === "once" && slot === newest)) return { slot, what: "fire", late: true };
    const reason = settings.missed === "once" ? `missed; replaced by the slot of ${stamp(newest)}` : missedReason;
    return { slot, what: "skip", reason };
  });
  const [first] = slots;
  if (unlisted !== null && first !== undefined) {
    const reason = `missed, as was every slot before ${stamp(first)}`;
    decisions.unshift({ slot: unlisted, what: "skip", reason });
  }
  return withinLifecycle(decisions, firesLeft(settings, progress));
}

export function stamp(time: number): string {
  return new Date(time).toISOString().replace(".000Z", "Z");
}

const missedReason = "missed: Aegis was not running at that time, or the clock went past it";

/** `unlisted` is the first slot beyond the limit of individual decisions. */
function due(timing: Timing, cursor: number, end: number): { slots: number[]; unlisted: number | null } {
  const source = slotSource(timing);
  const slots: number[] = [];
  for (let slot = source.next(cursor); slot !== null && slot <= end; slot = source.next(slot)) {
    slots.push(slot);
    if (slots.length > mostSlots) return { slots: source.before(end, mostSlots), unlisted: slots[0] ?? null };
  }
  return { slots, unlisted: null };
}

function withinLifecycle(decisions: readonly Decision[], left: number): Decision[] {
  const kept: Decision[] = [];
  let fires = 0;
  for (const decision of decisions) {
    if (fires >= left) break;
    if (decision.what === "fire") fires += 1;
    kept.push(decision);
  }
  return kept;
}

function firesLeft({ lifecycle }: Timing, { fires }: Progress): number {
  if (lifecycle === "once") return 1 - fires;
  return typeof lifecycle === "object" && "fires" in lifecycle ? lifecycle.fires - fires : Number.POSITIVE_INFINITY;
}

function lastMoment({ lifecycle }: Timing): number {
  return typeof lifecycle === "object" && "until" in lifecycle ? lifecycle.until : Number.POSITIVE_INFINITY;
}

type SlotSource = {
  next(after: number): number | null;
  /** The newest slots up to and including this moment, oldest first. */
  before(end: number, count: number): number[];
};

const second = 1_000;

function slotSource({ cron, fire_at, timezone }: Timing): SlotSource {
  if (cron === null) {
    const at = fire_at ?? Number.NEGATIVE_INFINITY;
    return { next: (after) => (at > after ? at : null), before: (end) => (at <= end ? [at] : []) };
  }
  const rhythm = cronRhythm(cron, timezone);
  return {
    next: (after) => rhythm.next(after),
    before: (end, count) =>
      rhythm
        .before(end + second, count + 1)
        .filter((slot) => slot <= end)
        .slice(-count),
  };
}
