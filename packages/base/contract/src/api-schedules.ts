/** The endpoints of schedules and their firings. */
import { z } from "zod";
import { count, endpoint } from "./api-parts.ts";
import {
  firingSchema,
  firingStatusSchema,
  scheduleEntrySchema,
  scheduleNameSchema,
  scheduleViewSchema,
} from "./schedule.ts";
import { firingIdSchema } from "./schema-ids.ts";

const schedulePath = z.object({ schedule: z.string().describe("a schedule's name") });
/** The file of the project that the request concerns, and whether it changed. */
const changed = { file: z.string(), changed: z.boolean() };

export const scheduleEndpoints = {
  listSchedules: endpoint("List schedules and their next firing times", {
    output: z.object({
      schedules: z.array(scheduleViewSchema),
      held: z
        .array(z.object({ name: z.string(), reason: z.string() }))
        .describe("schedules in files that have no effect because the user has not trusted them"),
    }),
  }),
  addSchedule: endpoint("Add a schedule in its own file", {
    body: z.object({ name: scheduleNameSchema, entry: scheduleEntrySchema }),
    output: z.object({ ...changed, schedule: scheduleViewSchema }),
  }),
  getSchedule: endpoint("Get one schedule and its status", {
    path: schedulePath,
    output: z.object({ schedule: scheduleViewSchema }),
  }),
  updateSchedule: endpoint("Enable or disable a schedule in the file that declares it", {
    path: schedulePath,
    body: z.object({ enabled: z.boolean() }),
    output: z.object({ ...changed, schedule: scheduleViewSchema }),
  }),
  removeSchedule: endpoint("Remove a schedule from the file that declares it; work that it started continues", {
    path: schedulePath,
    output: z.object({ ...changed, removed: z.literal(true) }),
  }),
  runSchedule: endpoint("Fire a schedule now; the firing does not count towards its lifecycle", {
    path: schedulePath,
    body: z.object({
      id: firingIdSchema.optional().describe("chosen by the sender to make the request idempotent"),
    }),
    output: z.object({ firing: firingSchema }),
  }),
  nextFirings: endpoint("List the next firing times of a schedule, as far as known", {
    path: schedulePath,
    query: z.object({ count: count(100, 5) }),
    output: z.object({ schedule: z.string(), timezone: z.string(), times: z.array(z.number()) }),
  }),
  listFirings: endpoint("List firings, newest first", {
    query: z.object({
      schedule: z.string().optional(),
      status: firingStatusSchema.optional(),
      limit: count(1000, 50),
    }),
    output: z.object({ firings: z.array(firingSchema) }),
  }),
  getFiring: endpoint("Get one firing and its outcome", {
    path: z.object({ firing: firingIdSchema }),
    output: z.object({ firing: firingSchema }),
  }),
};
