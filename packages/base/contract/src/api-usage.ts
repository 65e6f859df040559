/** The endpoint of usage over time. */
import { z } from "zod";
import { count, endpoint } from "./api-parts.ts";
import { usageMaxGroups, usageReportSchema } from "./usage.ts";
import { usageGroupings } from "./usage-names.ts";

const time = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

export const usageEndpoints = {
  getUsage: endpoint("Get tokens, costs, turns, minutes and errors over time, by the start of each turn", {
    query: z.object({
      by: z.enum(usageGroupings).default("agent"),
      bucket: z.enum(["hour", "day"]).default("day"),
      from: time.optional().describe("milliseconds since 1970; default: seven days before `to`"),
      to: time.optional().describe("milliseconds since 1970; default: now"),
      offset: z.coerce
        .number()
        .int()
        .min(-840)
        .max(840)
        .default(0)
        .describe("minutes by which days begin before midnight UTC: 60 for UTC+1"),
      limit: count(usageMaxGroups, 8).describe("the number of groups; the rest is summed up in `others`"),
    }),
    output: z.object({ usage: usageReportSchema }),
  }),
};
