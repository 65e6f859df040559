/** The names of groupings and buckets of usage. Without zod, so that a page can import them. */
export const usageGroupings = ["agent", "session", "queue", "workflow", "schedule", "model"] as const;
export type UsageGrouping = (typeof usageGroupings)[number];

export const usageBuckets = { hour: 3_600_000, day: 86_400_000 } as const;
export type UsageBucket = keyof typeof usageBuckets;
