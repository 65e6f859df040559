/** Which session holds which file. */

import { newId, type SessionId } from "@aegis/contract/ids.ts";
import { type FakeClock, fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { expect, it } from "vitest";
import { Holds, mostHeld } from "../src/claims/holds.ts";

const [ada, bob, cyd] = [1, 2, 3].map((at) => newId("ses", at)) as [SessionId, SessionId, SessionId];
const never = new AbortController().signal;

function taking(clock: FakeClock) {
  const holds = new Holds(clock);
  const take = (
    session: SessionId,
    paths: string[],
    more: { key?: string; waitMs?: number; signal?: AbortSignal } = {},
  ) => holds.take({ session, key: "claim", paths, leaseMs: 60_000, waitMs: 1_000, signal: never, ...more });
  return { holds, take };
}

it("gives a file to one session at a time, in the order of the requests, and all files or none", async () => {
  const { holds, take } = taking(fakeClock());
  expect(await take(ada, ["a", "b"])).toBeNull();
  const order: string[] = [];
  const second = take(bob, ["b", "c"]).then(() => order.push("bob"));
  const third = take(cyd, ["b"]).then(() => order.push("cyd"));
  expect(holds.of(bob)).toEqual([]);
  expect(holds.waitingFor("b")).toEqual([bob, cyd]);
  holds.release(ada, { paths: ["b"] });
  await second;
  expect(holds.of(bob).map(({ path }) => path)).toEqual(["b", "c"]);
  expect(holds.of(ada).map(({ path }) => path)).toEqual(["a"]);
  holds.release(bob);
  await third;
  expect(order).toEqual(["bob", "cyd"]);
});

it("lets a session hold a file for several calls, until the last of them ends", async () => {
  const { holds, take } = taking(fakeClock());
  expect(await take(ada, ["a"])).toBeNull();
  expect(await take(ada, ["a"], { key: "edit 1" })).toBeNull();
  holds.release(ada, { key: "claim" });
  expect(await take(bob, ["a"], { waitMs: 0 })).toEqual({ why: "held", path: "a", holder: ada });
  holds.release(ada, { key: "edit 1" });
  expect(await take(bob, ["a"], { waitMs: 0 })).toBeNull();
});

it("refuses at once what would wait in a circle, also through a third session", async () => {
  const { holds, take } = taking(fakeClock());
  for (const [session, path] of [
    [ada, "a"],
    [bob, "b"],
    [cyd, "c"],
  ] as const)
    await take(session, [path]);
  const waiting = [take(ada, ["b"]), take(bob, ["c"])];
  expect(await take(cyd, ["x", "a"])).toEqual({ why: "circle", path: "a", holder: ada });
  expect(holds.of(cyd).map(({ path }) => path)).toEqual(["c"]);
  holds.release(cyd);
  expect(await waiting[1]).toBeNull();
  holds.release(bob);
  expect(await waiting[0]).toBeNull();
});

it("stops waiting when its time is over or its turn ends, and leaves nothing behind", async () => {
  const clock = fakeClock();
  const { holds, take } = taking(clock);
  await take(ada, ["a"]);
  const late = take(bob, ["a", "b"], { waitMs: 1_000 });
  const stop = new AbortController();
  const stopped = take(cyd, ["a"], { signal: stop.signal });
  stop.abort(new Error("the turn ended"));
  await expect(stopped).rejects.toThrow("the turn ended");
  await clock.advance(1_000);
  expect(await late).toEqual({ why: "held", path: "a", holder: ada });
  expect(holds.waitingFor("a")).toEqual([]);
  expect(await take(cyd, ["b"], { waitMs: 0 })).toBeNull();
});

it("ends a hold whose lease is over, for one that waits too", async () => {
  const clock = fakeClock();
  const { holds, take } = taking(clock);
  await take(ada, ["a"]);
  const waiting = take(bob, ["a"], { waitMs: 90_000 });
  await clock.advance(60_000);
  expect(await waiting).toBeNull();
  expect(holds.of(ada)).toEqual([]);
});

it("limits how much a session can hold", async () => {
  const { take } = taking(fakeClock());
  const many = Array.from({ length: mostHeld + 1 }, (_, index) => `f${index}`);
  expect(await take(ada, many)).toMatchObject({ why: "limit" });
  expect(await take(ada, many.slice(1))).toBeNull();
  expect(await take(ada, many.slice(0, 1))).toMatchObject({ why: "limit" });
});

it("neither blocks nor lets two in when many sessions claim at random", async () => {
  const clock = fakeClock();
  const { holds, take } = taking(clock);
  let state = 7;
  const random = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
    return (state >> 8) % below;
  };
  const owner = new Map<string, SessionId>();
  let granted = 0;
  const live = async (session: SessionId) => {
    for (let turn = 0; turn < 100; turn++) {
      const mine = new Set<string>();
      for (let step = 0; step < 3; step++) {
        const paths = [`f${random(6)}`, `f${random(6)}`];
        // The clock stands still: a wait that nothing ends would never return.
        if ((await take(session, [...new Set(paths)])) !== null) break;
        granted += 1;
        for (const path of paths) {
          expect(owner.get(path) ?? session).toBe(session);
          owner.set(path, session);
          mine.add(path);
        }
        await Promise.resolve();
      }
      for (const path of mine) owner.delete(path);
      holds.release(session);
    }
  };
  await Promise.all(Array.from({ length: 12 }, (_, index) => live(newId("ses", index + 10))));
  expect(granted).toBeGreaterThan(500);
  expect(holds.list()).toEqual([]);
});
