/** `aegis schedule …`: what is done when, and what came of it. */
import { waitForFiring } from "../../client/wait-firing.ts";
import type { Firing, Missed, OnOverlap, ScheduleEntry } from "../../contract/schedule.ts";
import { ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { usageError } from "../failure.ts";
import { firingTable, localZone, scheduleLines, scheduleTable, zoned } from "../format/schedule-table.ts";
import { plainText } from "../format/text.ts";
import type { Terminal } from "../terminal.ts";

export async function list(cx: Terminal): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("listSchedules");
  if (cx.json) cx.printJson(answer);
  else if (answer.schedules.length === 0) {
    cx.print(answer.held.length === 0 ? "No schedules." : "No schedules in effect.");
    cx.print('Add one with: aegis schedule add <name> --agent <agent> --prompt <text> --cron "0 9 * * 1-5"');
  } else for (const line of scheduleTable(answer.schedules, tableOptions(cx))) cx.print(line);
  if (cx.json) return exitCodes.ok;
  for (const { name, reason } of answer.held) cx.warn(`${name} has no effect: ${reason}`);
  // A file with a mistake changes nothing, which looks as if it were not there.
  for (const problem of (await client.call("status")).config_problems) cx.warn(problem);
  return exitCodes.ok;
}

export async function show(cx: Terminal, args: { schedule: string }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const { schedule } = await client.call("getSchedule", { path: args });
  if (cx.json) cx.printJson({ schedule });
  else for (const line of scheduleLines(schedule, tableOptions(cx))) cx.print(line);
  return exitCodes.ok;
}

export type AddArgs = {
  name: string;
  workflow: string | undefined;
  args: string | undefined;
  queue: string | undefined;
  payload: string | undefined;
  agent: string | undefined;
  prompt: string | undefined;
  cron: string | undefined;
  at: string | undefined;
  inMs: number | undefined;
  timezone: string | undefined;
  once: boolean;
  fires: number | undefined;
  until: string | undefined;
  onOverlap: string | undefined;
  missed: string | undefined;
  timeoutMs: number | undefined;
  disabled: boolean;
};

export async function add(cx: Terminal, args: AddArgs): Promise<number> {
  const entry = entryOf(args, Date.now());
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("addSchedule", { body: { name: args.name, entry } });
  if (cx.json) cx.printJson(answer);
  else {
    const { next_at, timezone } = answer.schedule;
    cx.print(`added schedule ${args.name} (${answer.file})`);
    cx.print(next_at === null ? "it does not fire by itself" : `it fires next ${zoned(next_at, timezone)}`);
  }
  return exitCodes.ok;
}

/** With `--wait` the exit code says how it ended. */
export async function run(cx: Terminal, args: { schedule: string; wait: boolean }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const { firing } = await client.call("runSchedule", { path: { schedule: args.schedule }, body: {} });
  if (!args.wait) {
    if (cx.json) cx.printJson({ firing });
    else cx.print(firing.id);
    return exitCodes.ok;
  }
  const stopped = new AbortController();
  const undo = cx.onStop(() => stopped.abort());
  try {
    return report(cx, await waitForFiring(client, firing.id, { signal: stopped.signal }));
  } catch (error) {
    if (!stopped.signal.aborted) throw error;
    cx.warn(`it goes on; see: aegis schedule logs ${args.schedule}`);
    return exitCodes.interrupted;
  } finally {
    undo();
  }
}

export async function setEnabled(cx: Terminal, args: { schedule: string; enabled: boolean }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const { schedule, enabled } = args;
  const answer = await client.call("updateSchedule", { path: { schedule }, body: { enabled } });
  const state = `${schedule} is ${enabled ? "enabled" : "disabled"}`;
  if (cx.json) cx.printJson(answer);
  else cx.print(answer.changed ? `${state} (${answer.file})` : `nothing to change: ${state}`);
  return exitCodes.ok;
}

export async function remove(cx: Terminal, args: { schedule: string }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("removeSchedule", { path: args });
  if (cx.json) cx.printJson(answer);
  else cx.print(`removed schedule ${args.schedule} (${answer.file})`);
  return exitCodes.ok;
}

/** Newest last, as in a log. */
export async function logs(
  cx: Terminal,
  args: { schedule: string | undefined; limit: number | undefined },
): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const { schedule, limit = 20 } = args;
  const query = { limit, ...(schedule === undefined ? {} : { schedule }) };
  const { firings } = await client.call("listFirings", { query });
  const look = { ...tableOptions(cx), names: schedule === undefined };
  if (cx.json) cx.printJson({ firings });
  else if (firings.length === 0) cx.print("Nothing has fired yet.");
  else for (const line of firingTable(firings.toReversed(), look)) cx.print(line);
  return exitCodes.ok;
}

export async function next(cx: Terminal, args: { schedule: string; count: number | undefined }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const { schedule, count = 5 } = args;
  const answer = await client.call("nextFirings", { path: { schedule }, query: { count } });
  const { timezone, times } = answer;
  const here = localZone();
  if (cx.json) cx.printJson({ ...answer, local: here });
  else if (times.length === 0) cx.print(`${schedule} does not fire by itself any more, or is disabled`);
  for (const time of cx.json ? [] : times) {
    const elsewhere = timezone === here ? "" : `   ${zoned(time, here)}`;
    cx.print(`${zoned(time, timezone)}${elsewhere}`);
  }
  return exitCodes.ok;
}

function report(cx: Terminal, firing: Firing): number {
  if (cx.json) cx.printJson({ firing });
  else if (firing.result !== null) cx.print(plainText(firing.result));
  if (firing.status === "ok") return exitCodes.ok;
  cx.warn(`aegis: the firing ended as ${firing.status}: ${firing.error}`);
  return exitCodes.failed;
}

function entryOf(args: AddArgs, now: number): ScheduleEntry {
  const { workflow, queue, payload, agent, prompt, cron } = args;
  if ([workflow, queue, agent].filter((one) => one !== undefined).length !== 1)
    throw usageError("say what is to be done", "one of --workflow, --queue with --payload, --agent with --prompt");
  if ([cron, args.at, args.inMs].filter((one) => one !== undefined).length !== 1)
    throw usageError("say when it is to be done", 'one of --cron "0 9 * * 1-5", --at 2030-01-31T09:00, --in 10m');
  const fire_at = args.inMs === undefined ? args.at : new Date(now + args.inMs).toISOString();
  const entry: ScheduleEntry = {
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
    on_overlap: oneOf<OnOverlap>("--on-overlap", args.onOverlap, ["skip", "queue", "kill"]),
    missed: oneOf<Missed>("--missed", args.missed, ["skip", "once", "all"]),
    timeout: args.timeoutMs === undefined ? undefined : args.timeoutMs / 1_000,
    enabled: args.disabled ? false : undefined,
  };
  // The file says only what was asked for.
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined));
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

function oneOf<T extends string>(flag: string, text: string | undefined, known: readonly T[]): T | undefined {
  if (text === undefined) return undefined;
  const found = known.find((one) => one === text);
  if (found !== undefined) return found;
  throw usageError(`"${text}" is no value for ${flag}`, `expected ${known.join(", ")}`);
}

function tableOptions(cx: Terminal) {
  return { color: cx.color, width: cx.columns, now: Date.now() };
}
