import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { expect, it, vi } from "vitest";
import { retry } from "../src/retry.ts";

const backoff = { firstMs: 100, longestMs: 400 };

/** Fails until the attempt with this number. */
function flaky(succeedsAt: number) {
  let attempts = 0;
  return vi.fn(async () => {
    attempts += 1;
    if (attempts < succeedsAt) throw new Error(`failure ${attempts}`);
    return attempts;
  });
}

it("does the work again, with a longer delay after each failure, and tells of each wait", async () => {
  const clock = fakeClock(0);
  const waits: unknown[] = [];
  const onWait = (error: unknown, delayMs: number) => void waits.push([String(error), delayMs, clock.now()]);
  const done = retry(flaky(4), { backoff, clock, mayRetry: () => true, onWait });
  for (const delay of [100, 200, 400]) {
    await clock.sleepers(1);
    await clock.advance(delay);
  }
  expect(await done).toBe(4);
  expect(waits).toEqual([
    ["Error: failure 1", 100, 0],
    ["Error: failure 2", 200, 100],
    ["Error: failure 3", 400, 300],
  ]);
});

it("throws an error that another attempt does not help, at once", async () => {
  const work = flaky(9);
  const mayRetry = vi.fn(() => false);
  await expect(retry(work, { backoff, clock: fakeClock(0), mayRetry })).rejects.toThrow("failure 1");
  expect(mayRetry).toHaveBeenCalledWith(expect.objectContaining({ message: "failure 1" }), 100);
  expect(work).toHaveBeenCalledTimes(1);
});

it("throws the last error when it is told to stop, also while it waits", async () => {
  const clock = fakeClock(0);
  const stop = new AbortController();
  const work = flaky(9);
  const options = { backoff, clock, signal: stop.signal, mayRetry: () => true };
  const done = retry(work, options);
  await clock.sleepers(1);
  stop.abort();
  await expect(done).rejects.toThrow("failure 1");
  await expect(retry(work, options)).rejects.toThrow("failure 2");
  expect(work).toHaveBeenCalledTimes(2);
});
