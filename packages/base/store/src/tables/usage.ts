/** Sums up turns over time. The database does the sums: the answer has at most one row for each group and bucket. */
import { earliestId } from "@aegis/contract/ids.ts";
import type { UsagePoint, UsageSums } from "@aegis/contract/usage.ts";
import type { UsageGrouping } from "@aegis/contract/usage-names.ts";
import type { ReadSql, Value } from "../sql/sql.ts";

export type SpentQuery = {
  by: UsageGrouping;
  /** The first moment, and the first one after. */
  from: number;
  to: number;
  bucketMs: number;
  /** Added to each time before it is divided into buckets. */
  offsetMs: number;
  /** The most groups. */
  limit: number;
};

export type SpentRow = UsagePoint & { key: string | null };

export type SpentUsage = {
  /** The highest cost first. */
  groups: (UsageSums & { key: string | null })[];
  /** The buckets of these groups, oldest first. */
  points: SpentRow[];
  /** The buckets of all groups together. */
  all: UsagePoint[];
};

/** What the turn of a session was spent on. */
const keys: Readonly<Record<UsageGrouping, string>> = {
  agent: "(SELECT s.agent FROM sessions s WHERE s.id = t.session)",
  session: "t.session",
  model: "t.usage ->> '$.model'",
  queue: "(SELECT a.queue FROM attempts a WHERE a.worker = t.session)",
  workflow: "(SELECT min(r.workflow) FROM steps p JOIN runs r ON r.id = p.run WHERE p.session = t.session)",
  schedule: "(SELECT f.schedule FROM fired f WHERE f.session = t.session)",
};

/** The sessions that firings started, also as workers of tasks and in steps of runs. */
const fired = `fired AS (SELECT session, min(schedule) AS schedule FROM (
    SELECT f.effect AS session, f.schedule FROM firings f WHERE f.effect LIKE 'ses!_%' ESCAPE '!'
    UNION ALL SELECT a.worker, f.schedule FROM firings f JOIN attempts a ON a.task = f.effect
    UNION ALL SELECT p.session, f.schedule FROM firings f JOIN steps p ON p.run = f.effect WHERE p.session IS NOT NULL
  ) AS started GROUP BY session), `;

const number = (key: string) => `CAST(t.usage ->> '$.${key}' AS DOUBLE PRECISION)`;

/** Turns of the time; ids sort by the start of the turn, and have an index. */
function spent({ by }: SpentQuery): string {
  return `WITH ${by === "schedule" ? fired : ""}spent AS (
    SELECT ${keys[by]} AS key, (t.started_at + CAST(? AS BIGINT)) / CAST(? AS BIGINT) AS bucket,
      CASE WHEN t.reason IN ('failed', 'refused', 'lost') THEN 1 ELSE 0 END AS is_error,
      coalesce(t.ended_at - t.started_at, 0) AS duration,
      ${number("input")} AS input, ${number("cache_read")} AS cache_read, ${number("cache_write")} AS cache_write,
      ${number("output")} AS output, ${number("cost")} AS cost,
      CASE WHEN t.usage IS NOT NULL AND t.usage ->> '$.cost' IS NULL THEN 1 ELSE 0 END AS is_unknown
    FROM turns t WHERE t.id >= ? AND t.id < ?)`;
}

const sums = `count(*) AS turns, sum(is_error) AS errors, CAST(sum(duration) AS DOUBLE PRECISION) AS duration_ms,
  coalesce(sum(input), 0) AS input, coalesce(sum(cache_read), 0) AS cache_read,
  coalesce(sum(cache_write), 0) AS cache_write, coalesce(sum(output), 0) AS output, coalesce(sum(cost), 0) AS cost,
  sum(is_unknown) AS cost_unknown`;

/** A turn without a known model has used one; one without a queue has not. */
const counted = (by: UsageGrouping) => (by === "model" ? "" : "WHERE key IS NOT NULL");

export async function spentOverTime(sql: ReadSql, query: SpentQuery): Promise<SpentUsage> {
  const { by, from, to, bucketMs, offsetMs, limit } = query;
  const values: Value[] = [offsetMs, bucketMs, earliestId("trn", from), earliestId("trn", to)];
  const head = spent(query);
  const groups = await sql.all<Stored<"key">>(
    `${head} SELECT key, ${sums} FROM spent ${counted(by)} GROUP BY key
     ORDER BY coalesce(sum(cost), 0) DESC, coalesce(sum(input + output + cache_read + cache_write), 0) DESC,
       count(*) DESC, key LIMIT ?`,
    ...values,
    limit,
  );
  const names = JSON.stringify(groups.flatMap(({ key }) => key ?? []));
  const hasNull = groups.some(({ key }) => key === null);
  const listed = `(key ${sql.dialect.inArray}${hasNull ? " OR key IS NULL" : ""})`;
  const points = await sql.all<Stored<"key" | "bucket">>(
    `${head} SELECT key, bucket, ${sums} FROM spent WHERE ${listed} GROUP BY key, bucket ORDER BY bucket`,
    ...values,
    names,
  );
  const all = await sql.all<Stored<"bucket">>(
    `${head} SELECT bucket, ${sums} FROM spent ${counted(by)} GROUP BY bucket ORDER BY bucket`,
    ...values,
  );
  const at = (bucket: number | string) => Number(bucket) * bucketMs - offsetMs;
  return {
    groups: groups.map((row) => ({ key: row.key, ...sumsOf(row) })),
    points: points.map((row) => ({ key: row.key, at: at(row.bucket), ...sumsOf(row) })),
    all: all.map((row) => ({ at: at(row.bucket), ...sumsOf(row) })),
  };
}

/** A database server returns large sums as text. */
type Stored<Extra extends "key" | "bucket"> = Record<keyof UsageSums, number | string> &
  Pick<{ key: string | null; bucket: number | string }, Extra>;

function sumsOf(row: Record<keyof UsageSums, number | string>): UsageSums {
  return {
    turns: Number(row.turns),
    errors: Number(row.errors),
    duration_ms: Number(row.duration_ms),
    input: Number(row.input),
    cache_read: Number(row.cache_read),
    cache_write: Number(row.cache_write),
    output: Number(row.output),
    cost: Number(row.cost),
    cost_unknown: Number(row.cost_unknown),
  };
}
