/** What every store must do when it sums up turns over time. */

import { newId, type SessionId } from "@aegis/contract/ids.ts";
import type { TurnReason, Usage } from "@aegis/contract/turn.ts";
import type { UsageGrouping } from "@aegis/contract/usage-names.ts";
import type { SessionRow, SpentQuery, Store } from "@aegis/store/store.ts";
import { describe, expect, it } from "vitest";
import { task, turnRow } from "../helpers/rows.ts";
import { runRow, stepRow } from "./store-runs.ts";
import { firingRow } from "./store-schedules.ts";

type Helpers = { addSession(store: Store, change?: Partial<SessionRow>): Promise<SessionRow> };

const hour = 3_600_000;
const start = 1_000_000 * hour;

export function usageStoreSuite(get: () => Store, { addSession }: Helpers): void {
  let seq = 0;

  async function turn(session: SessionId, at: number, usage: Usage | null, reason: TurnReason | null = "completed") {
    const row = turnRow(session, { id: newId("trn", at), started_at: at });
    seq += 1;
    await get().transact(async (tx) => {
      await tx.turns.insert(row);
      if (reason !== null) await tx.turns.end(row.id, { at: at + 60_000, reason, error: null, text: "", usage, seq });
      else if (usage !== null) await tx.turns.spend(row.id, usage);
    });
  }
  const used = (output: number, cost: number | null, model?: string | null): Usage => ({
    input: 10,
    cache_read: 1,
    cache_write: 2,
    output,
    cost,
    ...(model === undefined ? {} : { model }),
  });
  const spent = (by: UsageGrouping, change: Partial<SpentQuery> = {}) =>
    get().read.turns.spent({
      by,
      from: start,
      to: start + 10 * hour,
      bucketMs: hour,
      offsetMs: 0,
      limit: 8,
      ...change,
    });

  describe("usage over time", () => {
    it("is summed by agent and bucket, the most expensive first, from the first moment to before the last", async () => {
      const [dev, docs] = [await addSession(get(), { agent: "dev" }), await addSession(get(), { agent: "docs" })];
      await turn(dev.id, start - 1, used(999, 9));
      await turn(dev.id, start, used(5, 0.5));
      await turn(dev.id, start + hour - 1, used(7, null), "failed");
      await turn(dev.id, start + hour, null, "cancelled");
      await turn(docs.id, start + 3 * hour, used(100, 0.25));
      await turn(docs.id, start + 3 * hour + 5, used(1, 0.25), null);
      await turn(docs.id, start + 10 * hour, used(999, 9));
      const { groups, points, all } = await spent("agent");
      const sums = { cache_read: 2, cache_write: 4, input: 20 };
      expect(groups).toEqual([
        { key: "docs", ...sums, turns: 2, errors: 0, duration_ms: 60_000, output: 101, cost: 0.5, cost_unknown: 0 },
        { key: "dev", ...sums, turns: 3, errors: 1, duration_ms: 180_000, output: 12, cost: 0.5, cost_unknown: 1 },
      ]);
      expect(points.map(({ key, at, turns, output }) => [key, (at - start) / hour, turns, output])).toEqual([
        ["dev", 0, 2, 12],
        ["dev", 1, 1, 0],
        ["docs", 3, 2, 101],
      ]);
      expect(all.map(({ at, turns }) => [(at - start) / hour, turns])).toEqual([
        [0, 2],
        [1, 1],
        [3, 2],
      ]);
    });

    it("lists at most the number of groups, and shifts buckets by the offset", async () => {
      const [a, b] = [await addSession(get()), await addSession(get())];
      await turn(a.id, start + 20 * 60_000, used(1, 1));
      await turn(b.id, start + 40 * 60_000, used(1, 2));
      const { groups, points, all } = await spent("session", { limit: 1, offsetMs: hour / 2 });
      expect(groups.map(({ key }) => key)).toEqual([b.id]);
      expect(points.map(({ at }) => at)).toEqual([start + hour / 2]);
      expect(all.map(({ at }) => at)).toEqual([start - hour / 2, start + hour / 2]);
    });

    it("is summed by model, and keeps turns whose model is unknown", async () => {
      const { id } = await addSession(get());
      await turn(id, start, used(1, 3, "fake/one"));
      await turn(id, start + 1, used(1, 1));
      await turn(id, start + 2, null);
      const { groups, points } = await spent("model");
      expect(groups.map(({ key, turns }) => [key, turns])).toEqual([
        ["fake/one", 1],
        [null, 2],
      ]);
      expect(points).toHaveLength(2);
    });

    it("is summed by queue, workflow and schedule of the sessions that worked for them, each turn once", async () => {
      const store = get();
      const [worker, stepper, fired, alone] = [
        ...[await addSession(store), await addSession(store)],
        ...[await addSession(store), await addSession(store)],
      ];
      if (!worker || !stepper || !fired || !alone) throw new Error("unreachable");
      const [one, run] = [task({ queue: "docs" }), runRow({ workflow: "tdd" })];
      await store.transact(async (tx) => {
        await tx.tasks.insert(one);
        await tx.tasks.insertAttempt({
          task: one.id,
          queue: "docs",
          number: 1,
          worker: worker.id,
          started_at: start,
          ended_at: null,
          error: null,
          output_tokens: null,
          cost: null,
        });
        await tx.runs.insert(run);
        await tx.steps.insert(stepRow(run.id, { session: stepper.id }));
        await tx.steps.insert(stepRow(run.id, { session: stepper.id, occurrence: 1 }));
        await tx.firings.insert(firingRow({ schedule: "a", effect: one.id }));
        await tx.firings.insert(firingRow({ schedule: "b", effect: run.id, slot: 2 }));
        await tx.firings.insert(firingRow({ schedule: "c", effect: fired.id, slot: 3 }));
      });
      for (const { id } of [worker, stepper, fired, alone]) await turn(id, start, used(1, 1));
      const keys = async (by: UsageGrouping) => (await spent(by)).groups.map(({ key, turns }) => [key, turns]);
      expect(await keys("queue")).toEqual([["docs", 1]]);
      expect(await keys("workflow")).toEqual([["tdd", 1]]);
      expect(await keys("schedule")).toEqual([
        ["a", 1],
        ["b", 1],
        ["c", 1],
      ]);
    });

    it("is empty without turns", async () => {
      for (const by of ["agent", "session", "queue", "workflow", "schedule", "model"] as const)
        expect(await spent(by)).toEqual({ groups: [], points: [], all: [] });
    });
  });
}
