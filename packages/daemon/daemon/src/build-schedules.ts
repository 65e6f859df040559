/** Builds the schedules and the editor of the files that declare them. */

import { relative, sep } from "node:path";
import { whyHeld } from "@aegis/cluster/agreement.ts";
import type { Lifecycle, ScheduleAction, ScheduleEntry } from "@aegis/contract/schedule.ts";
import type { ScheduleEditor } from "@aegis/http/schedules.ts";
import { zonedTime } from "@aegis/lib/cron.ts";
import { configFileName } from "@aegis/lib/daemon-file.ts";
import { nodeOf } from "@aegis/nodes/node-of.ts";
import { scheduleFile } from "@aegis/project/config/changes.ts";
import type { Config } from "@aegis/project/config/config.ts";
import { localFileName } from "@aegis/project/config/files.ts";
import { scheduleFiles } from "@aegis/project/config/schedule-files.ts";
import type { TrustedSettings } from "@aegis/project/trust/trusted-settings.ts";
import {
  type DeclaredSchedule,
  type HeldSchedule,
  Schedules,
  type SchedulesOptions,
} from "@aegis/schedules/schedules.ts";

export type BuildSchedulesOptions = Omit<SchedulesOptions, "declared" | "held" | "whyHeld"> & {
  root: string;
  settings: () => TrustedSettings;
};

export function buildSchedules(options: BuildSchedulesOptions): Schedules {
  const { root, settings, store, transact, clock, log, agents, sessions, inbox, queues, workflows } = options;
  const { waiting, refusal } = options;
  const node = nodeOf(store);
  let known: { of: TrustedSettings; declared: ReturnType<typeof declaredSchedules> } | null = null;
  const declared = () => {
    const of = settings();
    if (known?.of !== of) known = { of, declared: declaredSchedules(root, of) };
    return known.declared;
  };
  return new Schedules({
    store,
    transact,
    clock,
    log,
    agents,
    sessions,
    inbox,
    queues,
    workflows,
    waiting,
    refusal,
    declared,
    held: () => held(settings()),
    whyHeld: async (tx) => (node === null ? null : whyHeld(tx, node)),
  });
}

function held({ untrusted }: TrustedSettings): HeldSchedule[] {
  return untrusted.flatMap(({ item, reason }) => {
    if (item.kind !== "schedule") return [];
    const why = reason === "changed" ? "it was changed since you agreed to it" : "you have not agreed to it";
    return [{ name: item.name, reason: `${why}; look at it with: aegis trust` }];
  });
}

export type ScheduleEditorOptions = {
  root: string;
  schedules: Schedules;
  harnesses: readonly string[];
  /** Makes a change that the user requested, which implies trust in what it runs. */
  asOwner: <T>(edit: () => Promise<T>) => Promise<T>;
  /** Applies changed files immediately instead of waiting for the file watcher. */
  reload: () => Promise<unknown>;
};

export function scheduleEditor({ root, schedules, harnesses, asOwner, reload }: ScheduleEditorOptions): ScheduleEditor {
  const files = scheduleFiles({ root, harnesses });
  const changed = async ({ file, changed }: { file: string; changed: boolean }) => {
    await reload();
    return { file, changed };
  };
  return {
    async add(name, entry) {
      await refuseUnknownWorkflow(schedules, entry);
      return changed(await asOwner(() => files.writeAtomic(name, entry, { by: "aegis schedule add", fresh: true })));
    },
    async remove(name) {
      await schedules.view(name);
      return changed(await files.remove(name));
    },
    async setEnabled(name, enabled) {
      await schedules.view(name);
      return changed(await files.setEnabled(name, enabled));
    },
  };
}

/** A file may name a workflow that a plugin provides later. For a schedule that is added now, the check can run now. */
async function refuseUnknownWorkflow(schedules: Schedules, { workflow, args = {} }: ScheduleEntry): Promise<void> {
  if (workflow !== undefined) await schedules.check({ kind: "workflow", workflow, args });
}

type Entry = Config["schedules"][string];

/** Converts the schedules of a configuration to the form that the runtime uses. */
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
