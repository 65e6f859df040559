/** `aegis schedule …`: manages schedules and shows their firings. */

import { waitForFiring } from "@aegis/client/wait-work.ts";
import type {
  Firing,
  ScheduleAction,
  ScheduleEntry,
  ScheduleSettings,
  ScheduleView,
} from "@aegis/contract/schedule.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { type Cell, type TableOptions, table, tableOptions } from "../../format/columns.ts";
import type { Style } from "../../format/style.ts";
import { plainText, plural, truncate } from "../../format/text.ts";
import { duration, relativeTime } from "../../format/time.ts";
import type { Args, Exit, Handler } from "../../program/command.ts";
import { usageError } from "../../program/failure.ts";
import { given } from "../../program/given.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { untilStopped } from "../../terminal/until-stopped.ts";
import type { scheduleCommands } from "./spec.ts";

export const list: Handler<typeof scheduleCommands.list> = async (cx) => {
  const { client } = await cx.daemon();
  const answer = await client.call("listSchedules");
  const none = [
    answer.held.length === 0 ? "No schedules." : "No schedules in effect.",
    'Add one with: aegis schedule add <name> --agent <agent> --prompt <text> --cron "0 9 * * 1-5"',
  ];
  cx.show(answer, () => (answer.schedules.length === 0 ? none : scheduleTable(answer.schedules, tableOptions(cx))));
  if (cx.json) return;
  for (const { name, reason } of answer.held) cx.warn(`${name} has no effect: ${reason}`);
  // An invalid file is not applied, which looks as if the schedule were missing, so report its problems.
  for (const problem of (await client.call("status")).config_problems) cx.warn(problem);
};

export const show: Handler<typeof scheduleCommands.show> = async (cx, args) => {
  const { schedule } = await cx.call("getSchedule", { path: args });
  cx.show({ schedule }, () => scheduleLines(schedule, tableOptions(cx)));
};

type AddArgs = Args<typeof scheduleCommands.add>;

export const add: Handler<typeof scheduleCommands.add> = async (cx, args) => {
  const entry = entryOf(args, Date.now());
  const answer = await cx.call("addSchedule", { body: { name: args.name, entry } });
  const { next_at, timezone } = answer.schedule;
  cx.show(answer, () => [
    `added schedule ${args.name} (${answer.file})`,
    next_at === null ? "it has no further firings" : `next firing: ${zoned(next_at, timezone)}`,
  ]);
};

/** With `--wait`, the exit code reflects how the firing ended. */
export const run: Handler<typeof scheduleCommands.run> = async (cx, args) => {
  const { client } = await cx.daemon();
  const { firing } = await client.call("runSchedule", { path: { schedule: args.schedule }, body: {} });
  if (!args.wait) return cx.show({ firing }, firing.id);
  return untilStopped(cx, async (stopped) => {
    try {
      return report(cx, await waitForFiring(client, firing.id, { signal: stopped }));
    } catch (error) {
      if (!stopped.aborted) throw error;
      cx.warn(`it continues; see: aegis schedule logs ${args.schedule}`);
      return exitCodes.interrupted;
    }
  });
};

export async function setEnabled(cx: Terminal, args: { schedule: string; enabled: boolean }): Exit {
  const { schedule, enabled } = args;
  const answer = await cx.call("updateSchedule", { path: { schedule }, body: { enabled } });
  const state = `${schedule} is ${enabled ? "enabled" : "disabled"}`;
  cx.show(answer, answer.changed ? `${state} (${answer.file})` : `nothing to change: ${state}`);
}

export const remove: Handler<typeof scheduleCommands.remove> = async (cx, args) => {
  const answer = await cx.call("removeSchedule", { path: args });
  cx.show(answer, `removed schedule ${args.schedule} (${answer.file})`);
};

/** Prints the newest firing last, as in a log. */
export const logs: Handler<typeof scheduleCommands.logs> = async (cx, args) => {
  const { schedule, limit } = args;
  const { firings } = await cx.call("listFirings", { query: { limit, ...given({ schedule }) } });
  const look = { ...tableOptions(cx), names: schedule === undefined };
  cx.show({ firings }, () =>
    firings.length === 0 ? "Nothing has fired yet." : firingTable(firings.toReversed(), look),
  );
};

export const next: Handler<typeof scheduleCommands.next> = async (cx, args) => {
  const { schedule, count } = args;
  const answer = await cx.call("nextFirings", { path: { schedule }, query: { count } });
  const { timezone, times } = answer;
  const here = localZone();
  const lines = times.map((time) => `${zoned(time, timezone)}${timezone === here ? "" : `   ${zoned(time, here)}`}`);
  const none = `${schedule} has no further firings, or is disabled`;
  cx.show({ ...answer, local: here }, times.length === 0 ? none : lines);
};

function report(cx: Terminal, firing: Firing): number {
  cx.show({ firing }, firing.result === null ? [] : plainText(firing.result));
  if (firing.status === "ok") return exitCodes.ok;
  cx.warn(`aegis: the firing ended as ${firing.status}: ${firing.error}`);
  return exitCodes.failed;
}

function entryOf(args: AddArgs, now: number): ScheduleEntry {
  const { workflow, queue, payload, agent, prompt, cron } = args;
  if ([workflow, queue, agent].filter((one) => one !== undefined).length !== 1)
    throw usageError("the action is missing", "one of --workflow, --queue with --payload, --agent with --prompt");
  if ([cron, args.at, args.inMs].filter((one) => one !== undefined).length !== 1)
    throw usageError("the time is missing", 'one of --cron "0 9 * * 1-5", --at 2030-01-31T09:00, --in 10m');
  const fire_at = args.inMs === undefined ? args.at : new Date(now + args.inMs).toISOString();
  // Writes only the given fields to the file.
  return given<ScheduleEntry>({
    workflow,
    args: args.args === undefined ? undefined : workflowArguments(args.args),
    queue,
    payload,
    agent,
    prompt,
    cron,
    fire_at,
    timezone: args.timezone ?? localZone(),
    lifecycle: lifecycleOf(args),
    on_overlap: args.onOverlap,
    missed: args.missed,
    timeout: args.timeoutMs === undefined ? undefined : args.timeoutMs / 1_000,
    enabled: args.disabled ? false : undefined,
  });
}

function lifecycleOf({ once, fires, until }: AddArgs): ScheduleEntry["lifecycle"] {
  if ([once || undefined, fires, until].filter((one) => one !== undefined).length > 1)
    throw usageError("only one of --once, --fires and --until can be given");
  if (once) return "once";
  if (fires !== undefined) return { fires };
  return until === undefined ? undefined : { until };
}

function workflowArguments(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (isRecord(value)) return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw usageError(`--args is not a JSON object: ${text}`, `expected one such as '{"feature": "a greeting"}'`);
}

function scheduleTable(schedules: readonly ScheduleView[], options: TableOptions): string[] {
  const { style } = options;
  return table(options, ["SCHEDULE", "WHEN", "NEXT", "LAST", "STATE", "DOES"], schedules, (schedule) => [
    { text: schedule.name, paint: style.cyan },
    rhythmWords(schedule),
    schedule.next_at === null ? "-" : relativeTime(schedule.next_at, options.now),
    lastCell(schedule.last, style, options.now),
    { text: stateWords(schedule), ...(schedule.problem === null ? {} : { paint: style.red }) },
    actionWords(schedule.action),
  ]);
}

/** `names` adds a column with the schedule of each firing. */
function firingTable(firings: readonly Firing[], options: TableOptions & { names: boolean }): string[] {
  const { style } = options;
  const titles = ["SLOT", "STATUS", "TOOK", "STARTED", "RESULT"];
  return table(options, options.names ? ["SCHEDULE", ...titles] : titles, firings, (firing) => [
    ...(options.names ? [{ text: firing.schedule, paint: style.cyan }] : []),
    `${isoMinute(firing.slot)}${firing.manual ? " by hand" : firing.late ? " late" : ""}`,
    { text: firing.status, paint: statusPaint(firing.status, style) },
    tookWords(firing, options.now),
    firing.effect ?? "-",
    firing.error ?? firing.result ?? "",
  ]);
}

/** The width of the label column. */
const label = 11;

/** The details of one schedule. */
function scheduleLines(schedule: ScheduleView, { style, columns, now }: TableOptions): string[] {
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
    lines.push(`  last     ${truncate(words, columns - label)}`);
  }
  if (schedule.problem !== null) lines.push(style.red(`  problem  ${schedule.problem}`));
  return lines;
}

/** A time in a time zone: `Mon 2026-03-30 09:00 Europe/Berlin`. */
function zoned(time: number, timezone: string): string {
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

function localZone(): string {
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
