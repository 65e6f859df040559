/** A schedule starts work at set times; a firing is one occurrence of it. */
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
export type MissedPolicy = z.infer<typeof missedSchema>;

/** The action of a schedule: one of three kinds. */
export const scheduleActionSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("workflow"), workflow: z.string(), args: z.record(z.string(), z.unknown()) }),
  z.object({ kind: z.literal("queue"), queue: z.string(), payload: z.string() }),
  z.object({ kind: z.literal("agent"), agent: z.string(), prompt: z.string() }),
]);
export type ScheduleAction = z.infer<typeof scheduleActionSchema>;

export const lifecycleSchema = z.union([
  z.enum(["forever", "once"]),
  z.object({ fires: z.int().min(1) }),
  z.object({ until: z.number() }),
]);
export type Lifecycle = z.infer<typeof lifecycleSchema>;

/** An entry in effect: times are resolved and defaults are applied. */
export const scheduleSettingsSchema = z.object({
  action: scheduleActionSchema,
  /** Exactly one of the two is set. */
  cron: z.string().nullable(),
  fire_at: z.number().nullable(),
  /** The time zone of `cron`. */
  timezone: z.string(),
  lifecycle: lifecycleSchema,
  /** What happens to a slot that arrives while an earlier firing has not ended. */
  on_overlap: onOverlapSchema,
  /** What happens to missed slots, for example those that passed while no daemon was running. */
  missed: missedSchema,
  /** Timeout of one firing, in seconds; null for none. */
  timeout: z.number().positive().nullable(),
  enabled: z.boolean(),
});
export type ScheduleSettings = z.infer<typeof scheduleSettingsSchema>;

/** An entry as written by people. */
export const scheduleEntrySchema = z.strictObject({
  workflow: z.string().min(1).optional(),
  args: z.record(z.string(), z.unknown()).optional(),
  queue: z.string().min(1).optional(),
  payload: z.string().min(1).optional(),
  agent: z.string().min(1).optional(),
  prompt: z.string().min(1).optional(),
  cron: z.string().optional().describe("five fields, such as 0 9 * * 1-5"),
  fire_at: z
    .string()
    .optional()
    .describe("a time such as 2030-01-31T09:00:00Z; without an offset, local time in the time zone"),
  timezone: z.string().optional(),
  lifecycle: z
    .union([
      z.enum(["forever", "once"]),
      z.strictObject({ fires: z.int().min(1) }),
      z.strictObject({ until: z.string() }),
    ])
    .optional(),
  on_overlap: onOverlapSchema.optional(),
  missed: missedSchema.optional(),
  timeout: z.number().positive().optional().describe("timeout of one firing, in seconds"),
  enabled: z.boolean().optional(),
});
export type ScheduleEntry = z.infer<typeof scheduleEntrySchema>;

/**
 * `waiting` follows an earlier firing, `claimed` is about to start, `running` has started. `skipped` never started;
 * `error` states why.
 */
export const firingStatusSchema = z.enum(["waiting", "claimed", "running", "ok", "error", "skipped"]);
export type FiringStatus = z.infer<typeof firingStatusSchema>;

export const firingSchema = z.object({
  id: firingIdSchema,
  schedule: z.string(),
  /** The time it was scheduled for. */
  slot: z.number(),
  /** A person requested it; it is not a slot of the schedule. */
  manual: z.boolean(),
  /** It makes up for a missed slot. */
  late: z.boolean(),
  status: firingStatusSchema,
  action: scheduleActionSchema,
  timeout: z.number().nullable(),
  /** What it started: a run, a task or a session. */
  effect: z.string().nullable(),
  /** Why it is being stopped, or was. */
  stopping: z.string().nullable(),
  /** The beginning of its result. */
  result: z.string().nullable(),
  /** Why it failed or was skipped. */
  error: z.string().nullable(),
  claimed_at: z.number(),
  started_at: z.number().nullable(),
  ended_at: z.number().nullable(),
});
export type Firing = z.infer<typeof firingSchema>;

/** `done` no longer fires by itself: its lifecycle has ended or its time has passed. */
export const scheduleStateSchema = z.enum(["on", "off", "done"]);
export type ScheduleState = z.infer<typeof scheduleStateSchema>;

export const scheduleViewSchema = scheduleSettingsSchema.extend({
  name: z.string(),
  /** The file that declares it, relative to the project. */
  file: z.string(),
  state: scheduleStateSchema,
  next_at: z.number().nullable(),
  /** The number of firings that count towards its lifecycle. */
  fires: z.int(),
  /** The current firing, and how many wait for it. */
  running: firingSchema.nullable(),
  waiting: z.int(),
  /** The most recent firing that has ended. */
  last: firingSchema.nullable(),
  /** Why its next firing would fail. */
  problem: z.string().nullable(),
});
export type ScheduleView = z.infer<typeof scheduleViewSchema>;
