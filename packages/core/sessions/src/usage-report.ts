/** Reports the usage of turns over time. */
import type { ApiRequest } from "@aegis/contract/api.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { headline } from "@aegis/contract/headline.ts";
import { isId, type SessionId } from "@aegis/contract/ids.ts";
import { type UsagePoint, type UsageReport, type UsageSums, usageMaxBuckets } from "@aegis/contract/usage.ts";
import { usageBuckets } from "@aegis/contract/usage-names.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { StoreReads } from "@aegis/store/store.ts";

export type UsageRequest = ApiRequest<"getUsage">["query"];

const defaultMs = 7 * usageBuckets.day;

/** Throws `invalid` if the time is empty or has too many buckets. */
export async function usageReport(
  read: Pick<StoreReads, "turns" | "sessions">,
  clock: Pick<Clock, "now">,
  { by, bucket, offset, limit, ...request }: UsageRequest,
): Promise<UsageReport> {
  const bucketMs = usageBuckets[bucket];
  const offsetMs = offset * 60_000;
  const end = request.to ?? clock.now();
  const start = request.from ?? end - defaultMs;
  if (start >= end) throw new AegisError("invalid", "`from` must be before `to`");
  const from = Math.max(0, Math.floor((start + offsetMs) / bucketMs) * bucketMs - offsetMs);
  const to = Math.ceil((end + offsetMs) / bucketMs) * bucketMs - offsetMs;
  const buckets = (to - from) / bucketMs;
  if (buckets > usageMaxBuckets)
    throw new AegisError(
      "invalid",
      `the time has ${Math.ceil(buckets)} ${bucket}s; at most ${usageMaxBuckets} can be reported`,
      {
        hint: bucket === "hour" ? "use bucket=day, or a shorter time" : "use a shorter time",
      },
    );
  const { groups, points, all } = await read.turns.spent({ by, from, to, bucketMs, offsetMs, limit });
  const byKey = Map.groupBy(points, ({ key }) => key);
  const listed = await Promise.all(
    groups.map(async ({ key, ...total }) => ({
      key,
      name: key !== null && isId("ses", key) ? await nameOf(read, key) : key,
      total,
      points: (byKey.get(key) ?? []).map(({ key: _, ...point }) => point),
    })),
  );
  return { by, bucket, from, to, groups: listed, others: othersOf(all, points) };
}

async function nameOf(read: Pick<StoreReads, "sessions">, id: SessionId): Promise<string> {
  const row = await read.sessions.get(id);
  return row === null ? id : headline(row);
}

function othersOf(all: readonly UsagePoint[], listed: readonly UsagePoint[]): UsageReport["others"] {
  const byTime = Map.groupBy(listed, ({ at }) => at);
  const points = all.flatMap((point) => {
    const rest = (byTime.get(point.at) ?? []).reduce((left, one) => combined(left, one, -1), point);
    // Sums of fractions leave a rest that is nothing.
    return rest.turns > 0 ? [{ ...rest, cost: Math.max(0, rest.cost) }] : [];
  });
  if (points.length === 0) return null;
  return { total: points.reduce<UsageSums>((sum, { at: _, ...point }) => combined(sum, point, 1), nothing), points };
}

const nothing: UsageSums = {
  turns: 0,
  errors: 0,
  duration_ms: 0,
  input: 0,
  cache_read: 0,
  cache_write: 0,
  output: 0,
  cost: 0,
  cost_unknown: 0,
};

function combined<T extends UsageSums>(sum: T, more: UsageSums, sign: 1 | -1): T {
  return {
    ...sum,
    turns: sum.turns + sign * more.turns,
    errors: sum.errors + sign * more.errors,
    duration_ms: sum.duration_ms + sign * more.duration_ms,
    input: sum.input + sign * more.input,
    cache_read: sum.cache_read + sign * more.cache_read,
    cache_write: sum.cache_write + sign * more.cache_write,
    output: sum.output + sign * more.output,
    cost: sum.cost + sign * more.cost,
    cost_unknown: sum.cost_unknown + sign * more.cost_unknown,
  };
}
