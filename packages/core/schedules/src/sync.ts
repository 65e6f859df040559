/** Updates the rows of schedules to match the project's files. Part of the caller's transaction. */
import { isDeepStrictEqual } from "node:util";
import type { ScheduleSettings } from "@aegis/contract/schedule.ts";
import type { ScheduleRow, StoreTx } from "@aegis/store/store.ts";
import { skipWaiting } from "./claims.ts";
import { firstCursor, sameTiming } from "./slots.ts";

export type DeclaredSchedules = Readonly<Record<string, ScheduleSettings>>;

/** Returns the updated rows. Waiting firings of a removed or disabled schedule do not start. */
export async function bringInStep(tx: StoreTx, declared: DeclaredSchedules, now: number): Promise<ScheduleRow[]> {
  const rows: ScheduleRow[] = [];
  for (const [name, settings] of Object.entries(declared)) rows.push(await keep(tx, name, settings, now));
  for (const { name } of await tx.schedules.list()) {
    if (Object.hasOwn(declared, name)) continue;
    await tx.schedules.remove(name);
    await skipWaiting(tx, await tx.firings.unfinished(name), "the schedule was removed", now);
    await tx.events.append({ type: "schedule.removed", session: null, data: { schedule: name } }, now);
  }
  return rows;
}

async function keep(tx: StoreTx, name: string, settings: ScheduleSettings, now: number): Promise<ScheduleRow> {
  const before = await tx.schedules.get(name);
  if (before !== null && isDeepStrictEqual(before.settings, settings)) return before;
  const row = before === null ? newRow(name, settings, now) : changedRow(before, settings, now);
  const cancelled = settings.enabled
    ? 0
    : await skipWaiting(tx, await tx.firings.unfinished(name), "the schedule was disabled", now);
  const kept = { ...row, fires: row.fires - cancelled };
  await tx.schedules.put(kept);
  const type = before === null ? "schedule.added" : "schedule.changed";
  await tx.events.append({ type, session: null, data: { schedule: name, settings } }, now);
  return kept;
}

/** The row of a schedule that is stored for the first time. */
export function newRow(name: string, settings: ScheduleSettings, now: number): ScheduleRow {
  return { name, settings, cursor: firstCursor(settings, now), fires: 0, since: now };
}

/** A changed time restarts the schedule. Slots during the time it was disabled do not count as missed. */
function changedRow(before: ScheduleRow, settings: ScheduleSettings, now: number): ScheduleRow {
  if (!sameTiming(before.settings, settings)) return newRow(before.name, settings, now);
  const wakes = settings.enabled && !before.settings.enabled && settings.cron !== null;
  return { ...before, settings, cursor: wakes ? now : before.cursor };
}
