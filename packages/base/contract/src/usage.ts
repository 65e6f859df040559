/** The usage of turns over time, grouped by what they were spent on. */
import { z } from "zod";
import { usageSchema } from "./turn.ts";
import { usageGroupings } from "./usage-names.ts";

export const usageMaxBuckets = 1_000;
export const usageMaxGroups = 50;

export const usageSumsSchema = usageSchema.omit({ model: true, cost: true }).extend({
  turns: z.int(),
  /** Turns that ended as `failed`, `refused` or `lost`. */
  errors: z.int(),
  /** The time that ended turns took. */
  duration_ms: z.number(),
  /** The sum of the known costs, in US dollars. */
  cost: z.number(),
  /** Turns that recorded tokens whose cost is unknown. */
  cost_unknown: z.int(),
});
export type UsageSums = z.infer<typeof usageSumsSchema>;

/** `at` is the start of the bucket. Buckets without a turn are left out. */
export const usagePointSchema = usageSumsSchema.extend({ at: z.number() });
export type UsagePoint = z.infer<typeof usagePointSchema>;

export const usageGroupSchema = z.object({
  /** The agent, session id, queue, workflow, schedule or model; null for turns whose model is unknown. */
  key: z.string().nullable(),
  /** The key, or the handle of a session. */
  name: z.string().nullable(),
  total: usageSumsSchema,
  points: z.array(usagePointSchema),
});
export type UsageGroup = z.infer<typeof usageGroupSchema>;

export const usageReportSchema = z.object({
  by: z.enum(usageGroupings),
  bucket: z.enum(["hour", "day"]),
  /** Whole buckets: the start of the first one and the end of the last one. */
  from: z.number(),
  to: z.number(),
  /** The groups with the highest cost, then the most tokens, then the most turns. */
  groups: z.array(usageGroupSchema),
  /** The sum of the groups that are not listed; null if all are. */
  others: usageGroupSchema.pick({ total: true, points: true }).nullable(),
});
export type UsageReport = z.infer<typeof usageReportSchema>;
