/** A schedule says what is done when; a firing is one occurrence of it. */
import { z } from "zod";
import { slugMaxLength, slugPattern } from "./agent.ts";
import { firingIdSchema } from "./schema-ids.ts";

export const scheduleNameSchema = z
  .string()
  .max(slugMaxLength)
  .regex(slugPattern, "expected lower-case letters and digits joined by - or _, starting with a letter");

export const onOverlapSchema = z.enum(["skip", "queue", "kill"]);
export const missedSchema = z.enum(["skip", "once", "all"]);
export type OnOverlap = z.infer<typeof onOverlapSchema>;
export type Missed = z.infer<typeof missedSchema>;

/** What is done: one of three. */
export const scheduleActionSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("workflow"), workflow: z.string(), args: z.record(z.string(), z.unknown()) }),
  z.object({ kind: z.literal("queue"), queue: z.string(), payload: z.string() }),
  z.object({ kind: z.literal("agent"), agent: z.string(), prompt: z.string() }),
]);
export type ScheduleAction = z.infer<typeof scheduleActionSchema>;

export const lifecycleSchema = z.union([
  z.enum(["forever", "once"]),
  z.object({ fires: z.number().int().min(1) }),
  z.object({ until: z.number() }),
]);
export type Lifecycle = z.infer<typeof lifecycleSchema>;

/** An entry as it is in force: times are moments, and every default is in place. */
export const scheduleSettingsSchema = z.object({
  action: scheduleActionSchema,
  /** Exactly one of the two is set. */
  cron: z.string().nullable(),
  fire_at: z.number().nullable(),
  /** The zone whose clocks `cron` goes by. */
  timezone: z.string(),
  lifecycle: lifecycleSchema,
  /** What becomes of a slot that comes while an earlier firing is not over. */
  on_overlap: onOverlapSchema,
  /** What becomes of slots that passed while nobody looked at the clock. */
  missed: missedSchema,
  /** Seconds that one firing may take; null sets no limit. */
  timeout: z.number().positive().nullable(),
  enabled: z.boolean(),
});
export type ScheduleSettings = z.infer<typeof scheduleSettingsSchema>;

/** An entry as people write it. */
export const scheduleEntrySchema = z.strictObject({
  workflow: z.string().min(1).optional(),
  args: z.record(z.string(), z.unknown()).optional(),
  queue: z.string().min(1).optional(),
  payload: z.string().min(1).optional(),
  agent: z.string().min(1).optional(),
  prompt: z.string().min(1).optional(),
  cron: z.string().optional().describe("five fields, as in 0 9 * * 1-5"),
  fire_at: z
    .string()
    .optional()
    .describe("a time such as 2030-01-31T09:00:00Z; without an offset one of the time zone"),
  timezone: z.string().optional(),
  lifecycle: z
    .union([
      z.enum(["forever", "once"]),
      z.strictObject({ fires: z.number().int().min(1) }),
      z.strictObject({ until: z.string() }),
    ])
    .optional(),
  on_overlap: onOverlapSchema.optional(),
  missed: missedSchema.optional(),
  timeout: z.number().positive().optional().describe("seconds that one firing may take"),
  enabled: z.boolean().optional(),
});
export type ScheduleEntry = z.infer<typeof scheduleEntrySchema>;

/**
 * `waiting` comes after an earlier firing, `claimed` is about to be started, `running` was started. `skipped` was never
 * started: `error` says why.
 */
export const firingStatusSchema = z.enum(["waiting", "claimed", "running", "ok", "error", "skipped"]);
export type FiringStatus = z.infer<typeof firingStatusSchema>;

export const firingSchema = z.object({
  id: firingIdSchema,
  schedule: z.string(),
  /** The moment it was meant for. */
  slot: z.number(),
  /** Asked for by a person: no slot of the schedule. */
  manual: z.boolean(),
  /** Its moment had passed unseen; it makes up for it. */
  late: z.boolean(),
  status: firingStatusSchema,
  action: scheduleActionSchema,
  timeout: z.number().nullable(),
  /** What it started: a run, a task or a session. */
  effect: z.string().nullable(),
  /** Why it is being stopped, or was. */
  stopping: z.string().nullable(),
  /** The beginning of what came out. */
  result: z.string().nullable(),
  /** Why it failed or was skipped. */
  error: z.string().nullable(),
  claimed_at: z.number(),
  started_at: z.number().nullable(),
  ended_at: z.number().nullable(),
});
export type Firing = z.infer<typeof firingSchema>;

/** `done` fires no more by itself: its lifecycle is over or its time has passed. */
export const scheduleStateSchema = z.enum(["on", "off", "done"]);
export type ScheduleState = z.infer<typeof scheduleStateSchema>;

export const scheduleViewSchema = scheduleSettingsSchema.extend({
  name: z.string(),
  /** The file that declares it, relative to the project. */
  file: z.string(),
  state: scheduleStateSchema,
  next_at: z.number().nullable(),
  /** Firings that count for its lifecycle. */
  fires: z.number().int(),
  /** The firing under way, and how many wait for it. */
  running: firingSchema.nullable(),
  waiting: z.number().int(),
  /** The newest that is over. */
  last: firingSchema.nullable(),
  /** Why its next firing would fail. */
  problem: z.string().nullable(),
});
export type ScheduleView = z.infer<typeof scheduleViewSchema>;
