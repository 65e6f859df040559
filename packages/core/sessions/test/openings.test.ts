/** How many harnesses start at the same time. */
import { availableParallelism } from "node:os";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { completed, said, testDriver, testRuntime, turnsEnded } from "@aegis/test/helpers/runtime.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";
import { Openings } from "../src/openings.ts";

const never = new AbortController().signal;

/** Starts whose end the test decides. */
function starts(openings: Openings) {
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  const start = (name: string, signal = never) =>
    openings.run(() => {
      begun.push(name);
      const end = Promise.withResolvers<string>();
      ends.set(name, end);
      return end.promise;
    }, signal);
  /** Lets one become ready that has begun. */
  const end = async (name: string) => {
    await waitUntil(`${name} begins`, () => ends.has(name));
    ends.get(name)?.resolve(name);
  };
  return { begun, start, end, ends };
}

describe("Openings", () => {
  it("lets the next one begin when one is ready, in the order in which they came", async () => {
    const { begun, start, end } = starts(new Openings({ clock: fakeClock(), most: 2 }));
    const all = ["a", "b", "c", "d"].map((name) => start(name));
    await Promise.resolve();
    expect(begun).toEqual(["a", "b"]);
    await end("b");
    await waitUntil("the third begins", () => begun.length > 2);
    expect(begun).toEqual(["a", "b", "c"]);
    for (const name of ["a", "c", "d"]) await end(name);
    expect(await Promise.all(all)).toEqual(["a", "b", "c", "d"]);
    expect(begun).toEqual(["a", "b", "c", "d"]);
  });

  it("gives the place of one that failed to the next", async () => {
    const { begun, start, end, ends } = starts(new Openings({ clock: fakeClock(), most: 1 }));
    const first = start("a");
    const second = start("b");
    await Promise.resolve();
    ends.get("a")?.reject(new Error("cannot start"));
    await expect(first).rejects.toThrow("cannot start");
    await waitUntil("the next begins", () => begun.length === 2);
    await end("b");
    await second;
  });

  it("no longer counts one that takes very long, and counts it once", async () => {
    const clock = fakeClock();
    const { begun, start, end } = starts(new Openings({ clock, most: 1, longestMs: 1000 }));
    const all = ["a", "b", "c"].map((name) => start(name));
    await clock.sleepers(1);
    await clock.advance(1000);
    await waitUntil("the next begins", () => begun.length === 2);
    await end("a");
    await all[0];
    expect(begun).toEqual(["a", "b"]);
    await end("b");
    await all[1];
    await end("c");
    await all[2];
  });

  it("does not begin what was given up while it waited", async () => {
    const { begun, start, end } = starts(new Openings({ clock: fakeClock(), most: 1 }));
    const giveUp = new AbortController();
    const first = start("a");
    const second = start("b", giveUp.signal);
    const third = start("c");
    giveUp.abort(new Error("closed"));
    await expect(second).rejects.toThrow("closed");
    await end("a");
    await first;
    await waitUntil("the third begins", () => begun.includes("c"));
    await end("c");
    await third;
    expect(begun).toEqual(["a", "c"]);
  });
});

/** A runtime whose harness is a program, and whose sessions all get a message at the same time. */
async function woken(count: number) {
  const driver = testDriver(
    async function* () {
      yield said("resumed");
      yield completed;
    },
    { mcp: true },
  );
  const start = { underWay: 0, peak: 0, ready: new Set<() => void>() };
  const { open } = driver;
  driver.open = async (spec, scope) => {
    start.underWay += 1;
    start.peak = Math.max(start.peak, start.underWay);
    await new Promise<void>((resolve) => start.ready.add(resolve));
    start.underWay -= 1;
    return open(spec, scope);
  };
  const runtime = await testRuntime(await memoryDir(), driver);
  const created = Array.from({ length: count }, () => runtime.sessions.create({ prompt: "go on" }));
  const sessions = (await Promise.all(created)).map(({ session }) => session);
  const letReady = () => {
    for (const ready of start.ready) ready();
    start.ready.clear();
  };
  return { runtime, driver, sessions, start, letReady };
}

const bound = 2 * availableParallelism();

it("a daemon that wakes many sessions starts only so many harnesses at once, and wakes all", async () => {
  const count = Math.max(40, 2 * bound);
  const { runtime, driver, start, letReady } = await woken(count);
  await waitUntil("the first start", () => start.underWay === bound);
  while (driver.opened < count) {
    letReady();
    await waitUntil("others start", () => start.underWay === Math.min(bound, count - driver.opened));
  }
  await turnsEnded(runtime, count);
  expect(start.peak).toBe(bound);
  expect(driver.turns).toHaveLength(count);
});

it("a session that is closed while it waits for its harness to start does not start one", async () => {
  const { runtime, driver, sessions, start, letReady } = await woken(bound + 2);
  await waitUntil("the first start", () => start.underWay === bound);
  const waiting = sessions.at(-1);
  if (!waiting) throw new Error("there are sessions");
  await runtime.sessions.close(waiting.id, "not needed");
  while (driver.opened < bound + 1) {
    letReady();
    await waitUntil("others start", () => start.underWay === Math.min(bound, bound + 1 - driver.opened));
  }
  await turnsEnded(runtime, bound + 2);
  expect(driver.turns.map((turn) => turn.session)).not.toContain(waiting.id);
});
