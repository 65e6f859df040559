/** Schedules and firings as aligned columns and lines. */
import type { Firing, ScheduleAction, ScheduleSettings, ScheduleView } from "../../contract/schedule.ts";
import { type Cell, columns, heading, type TableOptions } from "./columns.ts";
import { createStyle, type Style } from "./style.ts";
import { plural, truncate } from "./text.ts";
import { duration, relativeTime } from "./time.ts";

export function scheduleTable(schedules: readonly ScheduleView[], options: TableOptions): string[] {
  const style = createStyle(options.color);
  const header = heading(style, ["SCHEDULE", "WHEN", "NEXT", "LAST", "STATE", "DOES"]);
  const rows = schedules.map((schedule): Cell[] => [
    { text: schedule.name, paint: style.cyan },
    { text: rhythmWords(schedule) },
    { text: schedule.next_at === null ? "-" : relativeTime(schedule.next_at, options.now) },
    lastCell(schedule.last, style, options.now),
    { text: stateWords(schedule), ...(schedule.problem === null ? {} : { paint: style.red }) },
    { text: actionWords(schedule.action) },
  ]);
  return columns(header, rows, options.width);
}

/** `names` adds a column with the schedule of each firing. */
export function firingTable(firings: readonly Firing[], options: TableOptions & { names: boolean }): string[] {
  const style = createStyle(options.color);
  const titles = ["SLOT", "STATUS", "TOOK", "STARTED", "RESULT"];
  const header = heading(style, options.names ? ["SCHEDULE", ...titles] : titles);
  const rows = firings.map((firing): Cell[] => [
    ...(options.names ? [{ text: firing.schedule, paint: style.cyan }] : []),
    { text: `${isoMinute(firing.slot)}${firing.manual ? " by hand" : firing.late ? " late" : ""}` },
    { text: firing.status, paint: statusPaint(firing.status, style) },
    { text: tookWords(firing, options.now) },
    { text: firing.effect ?? "-" },
    { text: firing.error ?? firing.result ?? "" },
  ]);
  return columns(header, rows, options.width);
}

/** The width of the label column. */
const label = 11;

/** The details of one schedule. */
export function scheduleLines(schedule: ScheduleView, { color, width, now }: TableOptions): string[] {
  const style = createStyle(color);
  const lines = [
    `${style.cyan(schedule.name)}: ${stateWords(schedule)}`,
    `  when     ${rhythmWords(schedule)} (${schedule.timezone})`,
    `  does     ${actionWords(schedule.action)}`,
    `  life     ${lifecycleWords(schedule)}, fired ${plural(schedule.fires, "time")}`,
    `  overlap  ${schedule.on_overlap}; missed: ${schedule.missed}; ${timeoutWords(schedule.timeout)}`,
    `  file     ${schedule.file}`,
  ];
  if (schedule.next_at !== null) lines.push(`  next     ${zoned(schedule.next_at, schedule.timezone)}`);
  if (schedule.running !== null) {
    const waits = schedule.waiting === 0 ? "" : `, ${schedule.waiting} waiting`;
    lines.push(`  now      ${schedule.running.status} ${schedule.running.effect ?? schedule.running.id}${waits}`);
  }
  if (schedule.last !== null) {
    const { status, slot, error, result } = schedule.last;
    const more = error ?? result;
    const words = `${status}, ${relativeTime(slot, now)}${more === null ? "" : `: ${more}`}`;
    lines.push(`  last     ${truncate(words, width - label)}`);
  }
  if (schedule.problem !== null) lines.push(style.red(`  problem  ${schedule.problem}`));
  return lines;
}

/** A time in a time zone: `Mon 2026-03-30 09:00 Europe/Berlin`. */
export function zoned(time: number, timezone: string): string {
  const parts = new Intl.DateTimeFormat("en-GB", {
    timeZone: timezone,
    weekday: "short",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }).formatToParts(time);
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.find((one) => one.type === type)?.value ?? "";
  const date = `${part("year")}-${part("month")}-${part("day")}`;
  return `${part("weekday")} ${date} ${part("hour")}:${part("minute")} ${timezone}`;
}

export function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function lastCell(last: Firing | null, style: Style, now: number): Cell {
  if (last === null) return { text: "-" };
  return { text: `${last.status} ${relativeTime(last.slot, now)}`, paint: statusPaint(last.status, style) };
}

function stateWords({ state, running, waiting, problem }: ScheduleView): string {
  const busy = running === null ? "" : `, ${running.status}${waiting === 0 ? "" : ` (${waiting} waiting)`}`;
  return `${state}${busy}${problem === null ? "" : ", cannot start"}`;
}

function rhythmWords({ cron, fire_at, timezone }: Pick<ScheduleSettings, "cron" | "fire_at" | "timezone">): string {
  return cron ?? `at ${zoned(fire_at ?? 0, timezone)}`;
}

function actionWords(action: ScheduleAction): string {
  switch (action.kind) {
    case "workflow": {
      const args = Object.keys(action.args).length === 0 ? "" : ` ${JSON.stringify(action.args)}`;
      return `workflow ${action.workflow}${args}`;
    }
    case "queue":
      return `queue ${action.queue}: ${action.payload}`;
    case "agent":
      return `agent ${action.agent}: ${action.prompt}`;
  }
}

function lifecycleWords({ lifecycle, timezone }: Pick<ScheduleSettings, "lifecycle" | "timezone">): string {
  if (typeof lifecycle === "string") return lifecycle;
  if ("fires" in lifecycle) return `${plural(lifecycle.fires, "firing")} in all`;
  return `until ${zoned(lifecycle.until, timezone)}`;
}

function timeoutWords(timeout: number | null): string {
  return timeout === null ? "no time limit" : `at most ${timeout} s each`;
}

function tookWords({ started_at, ended_at }: Firing, now: number): string {
  return started_at === null ? "-" : duration((ended_at ?? now) - started_at);
}

function statusPaint(status: Firing["status"], style: Style): (text: string) => string {
  const plain = (text: string) => text;
  return {
    waiting: plain,
    claimed: plain,
    running: style.green,
    ok: style.dim,
    error: style.red,
    skipped: style.yellow,
  }[status];
}

function isoMinute(time: number): string {
  return `${new Date(time).toISOString().slice(0, 16)}Z`;
}
