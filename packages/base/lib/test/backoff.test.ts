import { expect, it } from "vitest";
import { backoffMs } from "../src/backoff.ts";

const backoff = { firstMs: 1_000, longestMs: 300_000 };

it("waits twice as long after each failure, up to a limit", () => {
  expect([1, 2, 3, 4].map((failures) => backoffMs(backoff, failures))).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(backoffMs(backoff, 60)).toBe(300_000);
  expect(backoffMs(backoff, 5_000)).toBe(300_000);
});

it("takes off up to half by chance", () => {
  expect(backoffMs(backoff, 1, () => 1)).toBe(500);
  expect(backoffMs(backoff, 2, () => 0.5)).toBe(1_500);
});

it("grows by another factor when it is told to", () => {
  const steps = [1, 2, 3, 4].map((failures) => backoffMs({ firstMs: 100, longestMs: 5_000, factor: 5 }, failures));
  expect(steps).toEqual([100, 500, 2_500, 5_000]);
});
