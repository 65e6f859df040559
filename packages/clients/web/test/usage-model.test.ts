/** The pure model of usage over time. */

import type { UsageReport } from "@aegis/contract/usage.ts";
import { expect, it } from "vitest";
import { csvOf, dollars, plotted, ticksOf } from "../src/model/usage.ts";

const sums = {
  turns: 1,
  errors: 0,
  duration_ms: 90_000,
  input: 1,
  cache_read: 2,
  cache_write: 3,
  output: 4,
  cost: 0.5,
  cost_unknown: 0,
};
const hour = 3_600_000;
const report: UsageReport = {
  by: "model",
  bucket: "hour",
  from: 0,
  to: 3 * hour,
  groups: [
    { key: "=1+1", name: "=1+1", total: sums, points: [{ at: hour, ...sums }] },
    { key: null, name: null, total: sums, points: [{ at: 0, ...sums }] },
  ],
  others: { total: sums, points: [{ at: hour, ...sums, cost: 0.25 }] },
};

it("has a value for each bucket, and sums them", () => {
  const { times, series, totals } = plotted(report, "cost");
  expect(times).toEqual([0, hour, 2 * hour]);
  expect(series.map(({ name, values }) => [name, values])).toEqual([
    ["=1+1", [0, 0.5, 0]],
    ["unknown model", [0.5, 0, 0]],
    ["others", [0, 0.25, 0]],
  ]);
  expect(series.map(({ isRest }) => isRest)).toEqual([false, false, true]);
  expect(totals).toEqual([0.5, 0.75, 0]);
  expect(plotted(report, "tokens").totals).toEqual([10, 20, 0]);
  expect(plotted(report, "minutes").totals).toEqual([1.5, 3, 0]);
});

it("has round ticks up to the highest value", () => {
  expect(ticksOf(0, false)).toEqual([0, 1]);
  expect(ticksOf(20.3, false)).toEqual([0, 10, 20, 30]);
  expect(ticksOf(0.03, false)).toEqual([0, 0.01, 0.02, 0.03]);
  expect(ticksOf(2, true)).toEqual([0, 1, 2]);
  for (const highest of [0.0007, 1, 3, 99, 12_345, 7e9]) expect(ticksOf(highest, false).length).toBeLessThanOrEqual(6);
  expect([dollars(0), dollars(0.0042), dollars(1.5)]).toEqual(["$0", "$0.0042", "$1.50"]);
});

it("exports no formula", () => {
  const [, first, second, third] = csvOf(report).split("\r\n");
  expect(first).toBe("1970-01-01T01:00:00.000Z,'=1+1,1,0,1.5,1,2,3,4,0.5,0");
  expect(second).toContain(",(unknown),");
  expect(third).toContain(",(others),");
});
