/** Makes the schedules, and what changes the files that declare them. */
import type { ScheduleEntry } from "../contract/schedule.ts";
import { type HeldSchedule, Schedules, type SchedulesOptions } from "../runtime/schedules/schedules.ts";
import type { ScheduleService } from "../server/teamwork-services.ts";
import { scheduleFiles } from "./config/schedule-files.ts";
import { declaredSchedules } from "./declared-schedules.ts";
import type { Gated } from "./trust/gate.ts";

export type BuildSchedulesOptions = Omit<SchedulesOptions, "declared" | "held"> & {
  root: string;
  settings: () => Gated;
};

export function buildSchedules(options: BuildSchedulesOptions): Schedules {
  const { root, settings } = options;
  let known: { of: Gated; declared: ReturnType<typeof declaredSchedules> } | null = null;
  const declared = () => {
    const of = settings();
    if (known?.of !== of) known = { of, declared: declaredSchedules(root, of) };
    return known.declared;
  };
  return new Schedules({
    ...options,
    declared,
    held: () => held(settings()),
  });
}

function held({ untrusted }: Gated): HeldSchedule[] {
  return untrusted.flatMap(({ item, reason }) => {
    if (item.kind !== "schedule") return [];
    const why = reason === "changed" ? "it was changed since you agreed to it" : "you have not agreed to it";
    return [{ name: item.name, reason: `${why}; look at it with: aegis trust` }];
  });
}

export type ScheduleServiceOptions = {
  root: string;
  schedules: Schedules;
  harnesses: readonly string[];
  /** Makes a change that the user asked for, who thereby agrees to what it makes run. */
  asOwner: <T>(edit: () => Promise<T>) => Promise<T>;
  /** Takes changed files over at once, instead of when they are noticed. */
  reload: () => Promise<unknown>;
};

export function scheduleService({
  root,
  schedules,
  harnesses,
  asOwner,
  reload,
}: ScheduleServiceOptions): ScheduleService {
  const files = scheduleFiles({ root, harnesses });
  const changed = async ({ file, changed }: { file: string; changed: boolean }) => {
    await reload();
    return { file, changed };
  };
  return {
    list: () => schedules.list(),
    held: () => schedules.held(),
    view: (name) => schedules.view(name),
    run: (name, request) => schedules.run(name, request),
    next: (name, count) => schedules.next(name, count),
    firings: (filter) => schedules.firings(filter),
    firing: (id) => schedules.firing(id),
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

/** Files name workflows that a plugin brings later; whoever adds one now can be told now. */
async function refuseUnknownWorkflow(schedules: Schedules, { workflow, args = {} }: ScheduleEntry): Promise<void> {
  if (workflow !== undefined) await schedules.check({ kind: "workflow", workflow, args });
}
