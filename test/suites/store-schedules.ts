/** What every store must do with schedules and their firings. */

import { newId } from "@aegis/contract/ids.ts";
import type { Firing } from "@aegis/contract/schedule.ts";
import type { ScheduleRow, Store } from "@aegis/store/store.ts";
import { describe, expect, it } from "vitest";

export function scheduleRow(change: Partial<ScheduleRow> = {}): ScheduleRow {
  return {
    name: "nightly",
    settings: {
      action: { kind: "workflow", workflow: "dream", args: { deep: { list: [1, "two", null] } } },
      cron: "0 3 * * *",
      fire_at: null,
      timezone: "Europe/Berlin",
      lifecycle: { fires: 3 },
      on_overlap: "queue",
      missed: "once",
      timeout: 1.5,
      enabled: true,
    },
    cursor: 1_000,
    fires: 0,
    since: 1_000,
    ...change,
  };
}

export function firingRow(change: Partial<Firing> = {}): Firing {
  return {
    id: newId("fir", 1_000),
    schedule: "nightly",
    slot: 1_000,
    manual: false,
    late: false,
    status: "claimed",
    action: { kind: "queue", queue: "work", payload: "do it" },
    timeout: null,
    effect: null,
    stopping: null,
    result: null,
    error: null,
    claimed_at: 1_000,
    started_at: null,
    ended_at: null,
    ...change,
  };
}

export function scheduleStoreSuite(get: () => Store): void {
  describe("schedules", () => {
    it("come back as they were put in, by name, until they are removed", async () => {
      const store = get();
      const rows = [scheduleRow(), scheduleRow({ name: "hourly", cursor: Date.UTC(2126, 0, 1), fires: 7 })];
      for (const row of rows) await store.transact((tx) => tx.schedules.put(row));
      expect(await store.read.schedules.list()).toEqual([rows[1], rows[0]]);
      const moved = scheduleRow({ cursor: 2_000, fires: 1 });
      await store.transact((tx) => tx.schedules.put(moved));
      expect(await store.read.schedules.get("nightly")).toEqual(moved);
      await store.transact((tx) => tx.schedules.remove("nightly"));
      expect(await store.read.schedules.get("nightly")).toBeNull();
    });
  });

  describe("firings", () => {
    it("come back as they were, newest first, by schedule and by status", async () => {
      const store = get();
      const list = [
        firingRow({ late: true, timeout: 2.5 }),
        firingRow({ slot: 2_000, status: "waiting" }),
        firingRow({ schedule: "other", status: "waiting", manual: true }),
      ];
      for (const one of list) await store.transact((tx) => tx.firings.insert(one));
      expect(await store.read.firings.list({ limit: 2 })).toEqual([list[2], list[1]]);
      expect(await store.read.firings.list({ schedule: "nightly", status: "waiting", limit: 9 })).toEqual([list[1]]);
      expect(await store.read.firings.unfinished()).toEqual(list);
      expect(await store.read.firings.unfinished("nightly")).toEqual([list[0], list[1]]);
      expect(await store.read.firings.schedules()).toEqual(["nightly", "other"]);
    });

    it("have a slot once, but for those that a person asks for", async () => {
      const store = get();
      const first = firingRow();
      await store.transact((tx) => tx.firings.insert(first));
      for (const again of [firingRow(), firingRow({ id: first.id, slot: 5_000 })]) {
        await expect(store.transact((tx) => tx.firings.insert(again))).rejects.toMatchObject({ code: "conflict" });
      }
      for (let n = 0; n < 2; n++) await store.transact((tx) => tx.firings.insert(firingRow({ manual: true })));
      await store.transact((tx) => tx.firings.insert(firingRow({ schedule: "other" })));
      expect(await store.read.firings.atSlot("nightly", 1_000)).toEqual(first);
      expect(await store.read.firings.atSlot("nightly", 2_000)).toBeNull();
    });

    it("end once, and the newest that is over is known", async () => {
      const store = get();
      const [first, second] = [firingRow(), firingRow({ slot: 2_000 })];
      for (const one of [first, second]) await store.transact((tx) => tx.firings.insert(one));
      expect(await store.read.firings.last("nightly")).toBeNull();
      await store.transact((tx) =>
        tx.firings.update(first.id, { status: "running", effect: "tsk_1", started_at: 3_000 }),
      );
      const end = { status: "ok" as const, result: "fine", error: null, at: 4_000 };
      await store.transact((tx) => tx.firings.end(first.id, end));
      await expect(store.transact((tx) => tx.firings.end(first.id, end))).rejects.toMatchObject({ code: "conflict" });
      const ended = { ...first, status: "ok", effect: "tsk_1", started_at: 3_000, result: "fine", ended_at: 4_000 };
      expect(await store.read.firings.last("nightly")).toEqual(ended);
      expect(await store.read.firings.unfinished("nightly")).toEqual([second]);
      const unknown = newId("fir", 1);
      await expect(store.transact((tx) => tx.firings.update(unknown, { status: "running" }))).rejects.toMatchObject({
        code: "not_found",
      });
    });

    it("keep the name when the schedule is removed, and its events are found by it", async () => {
      const store = get();
      await store.transact(async (tx) => {
        await tx.schedules.put(scheduleRow());
        await tx.firings.insert(firingRow());
        const { settings } = scheduleRow();
        for (const schedule of ["nightly", "other"])
          await tx.events.append({ type: "schedule.added", session: null, data: { schedule, settings } }, 1_000);
        await tx.schedules.remove("nightly");
      });
      expect(await store.read.firings.list({ schedule: "nightly", limit: 9 })).toHaveLength(1);
      const events = await store.read.events.list({ schedule: "nightly", limit: 9 });
      expect(events.map((event) => event.data)).toMatchObject([{ schedule: "nightly" }]);
    });
  });
}
