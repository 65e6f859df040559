import { now, sampleModel } from "@aegis/test/helpers/sample-team.ts";
import { expect, it } from "vitest";
import { timeline } from "../../src/views/timeline.ts";
import { age, preciseDuration, runningTime } from "../../src/views/words.ts";

const { steps } = sampleModel();

it("folds idle times of a timeline", () => {
  const { bars, gaps } = timeline(steps?.steps ?? [], 32, now);
  expect(gaps).toEqual([{ at: 20, ms: 7_180_000 }]);
  expect(bars.map(({ from, to }) => [from, to])).toEqual([
    [0, 2],
    [2, 17],
    [17, 20],
    [20, 32],
  ]);
});

it("writes times briefly", () => {
  expect([12_430, 182_000, 7_500_000].map(preciseDuration)).toEqual(["12.4s", "3m02s", "2h05m"]);
  expect([8_900, 72_000, 97_200_000].map(runningTime)).toEqual(["8s", "1m12s", "1d03h"]);
  expect([500, 65_000, 7_200_000].map(age)).toEqual(["0s", "1m", "2h"]);
});
