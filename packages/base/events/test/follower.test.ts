import { setImmediate as nextRound } from "node:timers/promises";
import type { Event } from "@aegis/contract/event.ts";
import { expect, it, onTestFinished, vi } from "vitest";
import { Follower } from "../src/follower.ts";

/** A log whose commits the test makes, and work that counts how much was still to be done. */
function bench(work: (left: number) => Promise<number>, gatherMs?: number) {
  const listeners = new Set<(events: readonly Event[]) => void>();
  let left = 0;
  const follower = new Follower({
    store: {
      onCommit(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    note: (events) => {
      left += events.length;
    },
    isBehind: () => left > 0,
    work: async () => {
      const taken = left;
      left = 0;
      const failed = await work(taken);
      left += failed;
    },
    ...(gatherMs === undefined ? {} : { gatherMs }),
  });
  const commit = () => {
    for (const listener of listeners) listener([{} as Event]);
  };
  return { follower, commit };
}

it("works for one commit at a time, and misses none that comes while it works or just as it ends", async () => {
  const seen: number[] = [];
  let underWay = 0;
  const { follower, commit } = bench(async (left) => {
    underWay += 1;
    expect(underWay).toBe(1);
    seen.push(left);
    await Promise.resolve();
    if (seen.length === 1) commit();
    underWay -= 1;
    // After the last check for events, before the caller that waits for the work is told of its end.
    if (seen.length === 2) queueMicrotask(commit);
    return 0;
  });
  commit();
  await nextRound();
  expect(seen).toEqual([1, 1, 1]);
  await follower.close();
  expect(seen).toHaveLength(3);
});

it("tries what failed again with the next commit, and once more at its close", async () => {
  const tries: number[] = [];
  const { follower, commit } = bench(async (left) => {
    tries.push(left);
    return left;
  });
  commit();
  await nextRound();
  expect(tries).toEqual([1]);
  commit();
  await follower.close();
  expect(tries).toEqual([1, 2, 2]);
  commit();
  expect(tries).toHaveLength(3);
});

it("lets the commits of a while share a run, also when commits never stop", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const runs: { at: number; taken: number }[] = [];
  const start = performance.now();
  const { follower, commit } = bench(async (taken) => {
    runs.push({ at: performance.now() - start, taken });
    return 0;
  }, 20);
  for (let ms = 0; ms < 100; ms += 5) {
    commit();
    await vi.advanceTimersByTimeAsync(5);
  }
  expect(runs).toEqual([20, 40, 60, 80, 100].map((at) => ({ at, taken: 4 })));
  commit();
  await follower.close();
  expect(runs.at(-1)).toEqual({ at: 100, taken: 1 });
});
