import type { ScheduleEntry } from "@aegis/contract/schedule.ts";
import type { Schedules } from "@aegis/schedules/schedules.ts";
import type { Handlers } from "./requests.ts";

/** What these handlers call. */
export type ScheduleServices = {
  schedules: Pick<Schedules, "list" | "held" | "view" | "run" | "next" | "firings" | "firing">;
  scheduleFiles: ScheduleEditor;
};

type ChangedFile = { file: string; changed: boolean };

/** Edits the files of the project that declare schedules. Each change names the file that it was made in. */
export interface ScheduleEditor {
  /** Throws `invalid` with every problem. */
  add(name: string, entry: ScheduleEntry): Promise<ChangedFile>;
  /** Throws `not_found` with the nearest name. */
  remove(name: string): Promise<ChangedFile>;
  setEnabled(name: string, enabled: boolean): Promise<ChangedFile>;
}

export function scheduleHandlers({ schedules, scheduleFiles }: ScheduleServices) {
  return {
    listSchedules: async () => ({ schedules: await schedules.list(), held: schedules.held() }),
    async addSchedule({ body }) {
      const { name, entry } = body;
      const changed = await scheduleFiles.add(name, entry);
      return { ...changed, schedule: await schedules.view(name) };
    },
    getSchedule: async ({ path }) => ({ schedule: await schedules.view(path.schedule) }),
    async updateSchedule({ path, body }) {
      const changed = await scheduleFiles.setEnabled(path.schedule, body.enabled);
      return { ...changed, schedule: await schedules.view(path.schedule) };
    },
    removeSchedule: async ({ path }) => ({ ...(await scheduleFiles.remove(path.schedule)), removed: true }),
    runSchedule: async ({ path, body }) => ({ firing: await schedules.run(path.schedule, body) }),
    async nextFirings({ path, query }) {
      return { schedule: path.schedule, ...(await schedules.next(path.schedule, query.count)) };
    },
    listFirings: async ({ query }) => ({ firings: await schedules.firings(query) }),
    getFiring: async ({ path }) => ({ firing: await schedules.firing(path.firing) }),
  } satisfies Partial<Handlers>;
}
