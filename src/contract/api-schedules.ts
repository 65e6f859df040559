/** The endpoints of schedules and their firings. */
import { z } from "zod";
import { count, type Endpoint, none } from "./api-parts.ts";
import {
  firingSchema,
  firingStatusSchema,
  scheduleEntrySchema,
  scheduleNameSchema,
  scheduleViewSchema,
} from "./schedule.ts";
import { firingIdSchema } from "./schema-ids.ts";

const schedulePath = z.object({ schedule: z.string().describe("a schedule's name") });
/** A change of the project's files, and which one it was. */
const changed = { file: z.string(), changed: z.boolean() };

export const scheduleEndpoints = {
  listSchedules: {
    summary: "Schedules and when they fire next",
    path: none,
    query: none,
    body: none,
    output: z.object({
      schedules: z.array(scheduleViewSchema),
      held: z
        .array(z.object({ name: z.string(), reason: z.string() }))
        .describe("schedules of the files that have no effect, because nobody has agreed to them"),
    }),
  },
  addSchedule: {
    summary: "Add a schedule as a file of its own",
    path: none,
    query: none,
    body: z.object({ name: scheduleNameSchema, entry: scheduleEntrySchema }),
    output: z.object({ ...changed, schedule: scheduleViewSchema }),
  },
  getSchedule: {
    summary: "One schedule and how it stands",
    path: schedulePath,
    query: none,
    body: none,
    output: z.object({ schedule: scheduleViewSchema }),
  },
  updateSchedule: {
    summary: "Switch a schedule on or off, in the file that declares it",
    path: schedulePath,
    query: none,
    body: z.object({ enabled: z.boolean() }),
    output: z.object({ ...changed, schedule: scheduleViewSchema }),
  },
  removeSchedule: {
    summary: "Remove a schedule from the file that declares it; what it started goes on",
    path: schedulePath,
    query: none,
    body: none,
    output: z.object({ ...changed, removed: z.literal(true) }),
  },
  runSchedule: {
    summary: "Fire a schedule now; it does not count for its lifecycle",
    path: schedulePath,
    query: none,
    body: z.object({
      id: firingIdSchema.optional().describe("chosen by the sender so that a repeated request fires once only"),
    }),
    output: z.object({ firing: firingSchema }),
  },
  nextFirings: {
    summary: "When a schedule fires next, as far as is known now",
    path: schedulePath,
    query: z.object({ count: count(100, 5) }),
    body: none,
    output: z.object({ schedule: z.string(), timezone: z.string(), times: z.array(z.number()) }),
  },
  listFirings: {
    summary: "Firings, newest first",
    path: none,
    query: z.object({
      schedule: z.string().optional(),
      status: firingStatusSchema.optional(),
      limit: count(1000, 50),
    }),
    body: none,
    output: z.object({ firings: z.array(firingSchema) }),
  },
  getFiring: {
    summary: "One firing and what became of it",
    path: z.object({ firing: firingIdSchema }),
    query: none,
    body: none,
    output: z.object({ firing: firingSchema }),
  },
} satisfies Record<string, Endpoint>;
