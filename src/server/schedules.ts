import type { Handlers } from "./adapter.ts";
import type { Services } from "./services.ts";

export type ScheduleHandlers = Pick<
  Handlers,
  | "listSchedules"
  | "addSchedule"
  | "getSchedule"
  | "updateSchedule"
  | "removeSchedule"
  | "runSchedule"
  | "nextFirings"
  | "listFirings"
  | "getFiring"
>;

export function scheduleHandlers({ schedules }: Services): ScheduleHandlers {
  return {
    listSchedules: async () => ({ schedules: await schedules.list(), held: schedules.held() }),
    async addSchedule({ body }) {
      const { name, entry } = body;
      const changed = await schedules.add(name, entry);
      return { ...changed, schedule: await schedules.view(name) };
    },
    getSchedule: async ({ path }) => ({ schedule: await schedules.view(path.schedule) }),
    async updateSchedule({ path, body }) {
      const changed = await schedules.setEnabled(path.schedule, body.enabled);
      return { ...changed, schedule: await schedules.view(path.schedule) };
    },
    removeSchedule: async ({ path }) => ({ ...(await schedules.remove(path.schedule)), removed: true }),
    runSchedule: async ({ path, body }) => ({ firing: await schedules.run(path.schedule, body) }),
    async nextFirings({ path, query }) {
      return { schedule: path.schedule, ...(await schedules.next(path.schedule, query.count)) };
    },
    listFirings: async ({ query }) => ({ firings: await schedules.firings(query) }),
    getFiring: async ({ path }) => ({ firing: await schedules.firing(path.firing) }),
  };
}
