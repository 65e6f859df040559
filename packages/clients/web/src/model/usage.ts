/** Usage over time as series of numbers, ticks and CSV. Pure. */
import type { UsageReport, UsageSums } from "@aegis/contract/usage.ts";
import { usageBuckets } from "@aegis/contract/usage-names.ts";
import { count, money, visible } from "./format.ts";

export const measures = {
  cost: { title: "Cost", of: (sums: UsageSums) => sums.cost, text: dollars },
  tokens: { title: "Tokens", of: tokensOf, text: count },
  turns: { title: "Turns", of: (sums: UsageSums) => sums.turns, text: String },
  minutes: { title: "Minutes", of: (sums: UsageSums) => sums.duration_ms / 60_000, text: minutes },
  errors: { title: "Errors", of: (sums: UsageSums) => sums.errors, text: String },
} as const;
export type Measure = keyof typeof measures;

export function isMeasure(word: string | null): word is Measure {
  return word !== null && Object.hasOwn(measures, word);
}

export function tokensOf({ input, cache_read, cache_write, output }: UsageSums): number {
  return input + cache_read + cache_write + output;
}

/** Exact enough to compare small costs. */
export function dollars(value: number): string {
  return value > 0 && value < 0.01 ? `$${Number(value.toPrecision(2))}` : money(value);
}

export function minutes(value: number): string {
  return value >= 100 ? count(Math.round(value)) : String(Number(value.toFixed(1)));
}

export type Series = { name: string; total: UsageSums; values: number[]; isRest: boolean; key: string | null };
export type PlottedUsage = { times: number[]; series: Series[]; totals: number[] };

/** One value for each group and bucket; buckets without a turn are zero. */
export function plotted(report: UsageReport, measure: Measure): PlottedUsage {
  const size = usageBuckets[report.bucket];
  const times = Array.from(
    { length: Math.round((report.to - report.from) / size) },
    (_, at) => report.from + at * size,
  );
  const { of } = measures[measure];
  const valuesOf = (points: UsageReport["groups"][number]["points"]) => {
    const values = times.map(() => 0);
    for (const point of points) {
      const index = Math.round((point.at - report.from) / size);
      if (index in values) values[index] = of(point);
    }
    return values;
  };
  const series = report.groups.map(
    ({ key, name, total, points }): Series => ({
      key,
      total,
      values: valuesOf(points),
      isRest: false,
      name: name === null ? `unknown ${report.by}` : visible(name),
    }),
  );
  if (report.others !== null) {
    const { total, points } = report.others;
    series.push({ key: null, name: "others", total, values: valuesOf(points), isRest: true });
  }
  return {
    times,
    series,
    totals: times.map((_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)),
  };
}

/** Round values from zero to the first that is not less than the highest. */
export function ticksOf(highest: number, isWhole: boolean): number[] {
  if (highest <= 0) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(highest / 4));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => highest / one <= 4) ?? highest;
  const real = isWhole ? Math.max(1, Math.round(step)) : step;
  const ticks = [0];
  while ((ticks.at(-1) ?? 0) < highest) ticks.push(Number((ticks.length * real).toPrecision(12)));
  return ticks;
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export function timeLabel(at: number, bucket: UsageReport["bucket"]): string {
  const date = new Date(at);
  const day = `${date.getDate()} ${months[date.getMonth()]}`;
  return bucket === "day" ? day : `${day} ${String(date.getHours()).padStart(2, "0")}:00`;
}

export function csvOf(report: UsageReport): string {
  const head = ["time", report.by, "turns", "errors", "minutes", "input", "cache_read", "cache_write", "output"];
  const rows: (string | number)[][] = [[...head, "cost_usd", "turns_of_unknown_cost"]];
  const others = report.others === null ? [] : [{ ...report.others, name: "(others)" }];
  for (const { name, points } of [...report.groups, ...others])
    for (const point of points)
      rows.push([
        ...[new Date(point.at).toISOString(), name ?? "(unknown)", point.turns, point.errors],
        ...[Number((point.duration_ms / 60_000).toFixed(3)), point.input, point.cache_read, point.cache_write],
        ...[point.output, point.cost, point.cost_unknown],
      ]);
  return `${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}

/** A spreadsheet runs a text that begins like a formula. */
function cell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
