/** Converts the schedules of a configuration to the form that the runtime uses. */
import { relative, sep } from "node:path";
import type { Lifecycle, ScheduleAction } from "../contract/schedule.ts";
import { zonedTime } from "../lib/cron.ts";
import { configFileName } from "../lib/daemon-file.ts";
import { scheduleFile } from "../project/config/changes.ts";
import type { Config } from "../project/config/config.ts";
import { localFileName } from "../project/config/files.ts";
import type { DeclaredSchedule } from "../runtime/schedules/schedules.ts";

type Entry = Config["schedules"][string];

export function declaredSchedules(
  root: string,
  { config, files }: { config: Pick<Config, "schedules">; files: readonly string[] },
): Record<string, DeclaredSchedule> {
  const read = new Set(files.map((file) => relative(root, file)));
  const fallback = read.has(configFileName) ? configFileName : localFileName;
  return Object.fromEntries(
    Object.entries(config.schedules).map(([name, entry]) => {
      const overlay = scheduleFile(name);
      const file = (read.has(overlay) ? overlay : fallback).split(sep).join("/");
      return [name, { file, settings: settingsOf(entry) }];
    }),
  );
}

function settingsOf(entry: Entry): DeclaredSchedule["settings"] {
  const { cron, fire_at, timezone, on_overlap, missed, timeout, enabled } = entry;
  return {
    action: actionOf(entry),
    cron: cron ?? null,
    fire_at: fire_at === undefined ? null : moment(fire_at, timezone),
    timezone,
    lifecycle: lifecycleOf(entry),
    on_overlap,
    missed,
    timeout: timeout ?? null,
    enabled,
  };
}

/** The validated configuration has exactly one of the three actions, with its arguments. */
function actionOf({ workflow, args, queue, payload, agent, prompt }: Entry): ScheduleAction {
  if (workflow !== undefined) return { kind: "workflow", workflow, args };
  if (queue !== undefined) return { kind: "queue", queue, payload: payload ?? "" };
  return { kind: "agent", agent: agent ?? "", prompt: prompt ?? "" };
}

function lifecycleOf({ lifecycle, timezone }: Entry): Lifecycle {
  if (typeof lifecycle === "string" || "fires" in lifecycle) return lifecycle;
  return { until: moment(lifecycle.until, timezone) };
}

function moment(text: string, timezone: string): number {
  const time = zonedTime(text, timezone);
  if (time === null) throw new TypeError(`the configuration let "${text}" pass as a time`);
  return time;
}
