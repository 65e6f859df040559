/** `aegis schedule …`: manages schedules and shows their firings. */

import { waitForFiring } from "../../../client/wait-firing.ts";
import type { Firing, ScheduleEntry } from "../../../contract/schedule.ts";
import { tableOptions } from "../../format/columns.ts";
import { firingTable, localZone, scheduleLines, scheduleTable, zoned } from "../../format/schedule-table.ts";
import { plainText } from "../../format/text.ts";
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
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw usageError(`--args is not a JSON object: ${text}`, `expected one such as '{"feature": "a greeting"}'`);
}
