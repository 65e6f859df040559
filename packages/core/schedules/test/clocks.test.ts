/** Clocks that are set, daemons that were down: each slot fires at most once, and no timer loops. */

import { eventsOfType } from "@aegis/test/helpers/runtime.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { brief, firings, type Kit, kit, settings, wallClock } from "./kit.ts";

const minute = 60_000;
const hour = 60 * minute;
const start = Date.UTC(2026, 0, 5, 0, 30);

/** Waits until what is due has been claimed and has ended. */
async function settled(at: Kit, whileOpen = async () => {}): Promise<void> {
  await at.quiet();
  await waitUntil("no firing is open", async () => {
    if ((await at.store.read.firings.unfinished()).length === 0) return true;
    await whileOpen();
    return false;
  });
  await at.quiet();
}

/** Lets time pass: each slot ends before the clock reaches the next one. */
async function passes(at: Kit, ms: number): Promise<void> {
  await at.clock.advance(ms, () => settled(at));
}

describe("a clock that is set", () => {
  it("forward misses the slots in between, once each", async () => {
    const at = await kit(await tempDir(), { s: settings({ missed: "once" }) }, { clock: wallClock(start) });
    await passes(at, 10 * minute);
    at.clock.set(5 * hour);
    await passes(at, 2 * minute);
    expect(brief(await firings(at))).toEqual([
      "01:00 skipped",
      "02:00 skipped",
      "03:00 skipped",
      "04:00 skipped",
      "05:00 ok late",
    ]);
    await passes(at, hour);
    expect(brief(await firings(at)).slice(5)).toEqual(["06:00 ok"]);
  });

  it("back fires no slot again, and goes on with those that are still to come", async () => {
    const at = await kit(await tempDir(), { s: settings() }, { clock: wallClock(start) });
    await passes(at, 3 * hour);
    expect(brief(await firings(at))).toEqual(["01:00 ok", "02:00 ok", "03:00 ok"]);
    at.clock.set(-2 * hour);
    await passes(at, 3 * hour);
    expect(brief(await firings(at))).toEqual(["01:00 ok", "02:00 ok", "03:00 ok", "04:00 ok"]);
  });

  it("back from far in the future does not leave the schedule waiting for it", async () => {
    const at = await kit(await tempDir(), { s: settings() }, { clock: wallClock(start) });
    at.clock.set(4 * 365 * 24 * hour);
    await passes(at, 2 * minute);
    at.clock.set(-4 * 365 * 24 * hour);
    const before = (await firings(at)).length;
    await passes(at, 2 * hour);
    // The slot of one o'clock stands for all that were passed over.
    expect(brief(await firings(at)).slice(before)).toEqual(["02:00 ok"]);
  });
});

describe("over restarts", () => {
  it("a time that has passed fires once", async () => {
    const dir = await tempDir();
    const declared = { s: settings({ fire_at: start - 9 * hour }) };
    const clock = wallClock(start);
    for (let boot = 0; boot < 4; boot++) {
      const at = await kit(dir, declared, { clock });
      await passes(at, minute);
      expect(await firings(at)).toMatchObject([{ status: "ok", late: true, slot: start - 9 * hour }]);
      expect(await at.schedules.view("s")).toMatchObject({ state: "done", next_at: null });
      await at.stop();
    }
  });

  it("a time that has passed does not fire again because it was removed and added", async () => {
    const declared: Record<string, ReturnType<typeof settings>> = { s: settings({ fire_at: start - hour }) };
    const at = await kit(await tempDir(), declared, { clock: wallClock(start) });
    await passes(at, minute);
    delete declared.s;
    await at.schedules.settingsChanged();
    declared.s = settings({ fire_at: start - hour });
    await at.schedules.settingsChanged();
    await passes(at, minute);
    expect(await firings(at)).toHaveLength(1);
    declared.s = settings({ fire_at: start + hour });
    await at.schedules.settingsChanged();
    await passes(at, hour);
    expect(await firings(at)).toHaveLength(2);
  });

  it("counts go on", async () => {
    const dir = await tempDir();
    const declared = { s: settings({ lifecycle: { fires: 3 } }) };
    const clock = wallClock(start);
    for (let boot = 0; boot < 3; boot++) {
      const at = await kit(dir, declared, { clock });
      await passes(at, 2 * hour);
      await at.stop();
    }
    const at = await kit(dir, declared, { clock });
    expect(brief(await firings(at))).toEqual(["01:00 ok", "02:00 ok", "03:00 ok"]);
    expect(await at.schedules.view("s")).toMatchObject({ state: "done", fires: 3 });
  });

  it.each(["kill", "skip"] as const)(
    "what is made up for and the slot that follows both run, with %s",
    async (policy) => {
      const dir = await tempDir();
      const declared = { s: settings({ missed: "all", on_overlap: policy }) };
      const clock = wallClock(start);
      await (await kit(dir, declared, { clock })).stop();
      await clock.advance(2.5 * hour);
      const at = await kit(dir, declared, { clock });
      await passes(at, minute);
      expect(brief(await firings(at))).toEqual(["01:00 ok late", "02:00 ok late", "03:00 ok"]);
    },
  );

  it.each([
    ["skip", ["01:00 skipped", "02:00 skipped", "03:00 skipped"]],
    ["once", ["01:00 skipped", "02:00 skipped", "03:00 ok late"]],
    ["all", ["01:00 ok late", "02:00 ok late", "03:00 ok late"]],
  ] as const)("slots of the time it was down follow the policy %s, one after the other", async (missed, expected) => {
    const dir = await tempDir();
    const declared = { s: settings({ missed }) };
    const clock = wallClock(start);
    const first = await kit(dir, declared, { clock });
    await first.stop();
    await clock.advance(3 * hour);
    const at = await kit(dir, declared, { clock });
    await passes(at, minute);
    expect(brief(await firings(at))).toEqual(expected);
    const order = (await eventsOfType(at.store, "schedule.started")).map((event) => event.data.firing);
    const ran = (await firings(at)).filter((firing) => firing.status === "ok");
    expect(order).toEqual(ran.map((firing) => firing.id));
  });
});

it("fires and records each slot at most once for any movement of the clock", {
  tags: "slow",
  timeout: scaled(120_000),
}, async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: minute, max: 2 * hour }) }),
    fc.record({ kind: fc.constant("set" as const), ms: fc.integer({ min: -5 * hour, max: 5 * hour }) }),
    fc.record({ kind: fc.constant("restart" as const), ms: fc.integer({ min: 0, max: 3 * hour }) }),
  );
  const cases = fc.record({
    steps: fc.array(step, { minLength: 3, maxLength: 8 }),
    missed: fc.constantFrom("skip" as const, "once" as const, "all" as const),
    overlap: fc.constantFrom("skip" as const, "queue" as const, "kill" as const),
  });
  // A session that several stops interrupted in a row starts after a delay.
  const pass = (at: Kit, ms: number) => at.clock.advance(ms, () => settled(at, () => at.clock.advance(minute / 60)));
  const folders: string[] = [];
  for (let n = 0; n < 12; n++) folders.push(await tempDir());
  await fc.assert(
    fc.asyncProperty(cases, async ({ steps, missed, overlap }) => {
      const dir = folders.pop() ?? "";
      const clock = wallClock(start);
      const declared = { s: settings({ cron: "*/20 * * * *", missed, on_overlap: overlap }) };
      let at = await kit(dir, declared, { clock });
      for (const { kind, ms } of steps) {
        if (kind === "pass") await pass(at, ms);
        if (kind === "set") clock.set(ms);
        if (kind !== "restart") continue;
        await at.stop();
        await clock.advance(ms);
        at = await kit(dir, declared, { clock });
      }
      await pass(at, hour);
      const slots = (await firings(at)).map((firing) => firing.slot);
      expect(new Set(slots).size).toBe(slots.length);
      const ran = (await firings(at)).filter((firing) => firing.effect !== null);
      expect(new Set(ran.map((firing) => firing.effect)).size).toBe(ran.length);
      const sessions = await at.runtime.sessions.list({ closed: true, client: "x" });
      expect(sessions).toHaveLength(ran.length);
      await at.stop();
    }),
    { numRuns: 12, endOnFailure: true },
  );
});
