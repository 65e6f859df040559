/** What every store must do with runs, their steps and their signals. */

import { newId, type RunId } from "@aegis/contract/ids.ts";
import type { RunRow, SessionRow, StepRow, Store } from "@aegis/store/store.ts";
import { describe, expect, it } from "vitest";

type Helpers = { addSession(store: Store, change?: Partial<SessionRow>): Promise<SessionRow> };

export function runRow(change: Partial<RunRow> = {}): RunRow {
  return {
    id: newId("run", 1_000),
    workflow: "work",
    args: { deep: { list: [1, "two", null] } },
    status: "running",
    host: null,
    starter: null,
    callback: true,
    chain: null,
    hops: 0,
    code: "1",
    epoch: 0,
    phase: null,
    resumes: 0,
    retries: 0,
    forked_from: null,
    parked: null,
    result: null,
    error: null,
    created_at: 1_000,
    resumed_at: null,
    ended_at: null,
    owner: "me",
    lease_until: 2_000,
    ...change,
  };
}

export function stepRow(run: RunId, change: Partial<StepRow> = {}): StepRow {
  const name = { run, epoch: 0, scope: "", key: "act:1", occurrence: 0 };
  const open = { status: "begun" as const, ended: null, ended_at: null, error: null };
  const empty = { begun: null, result: null, failure: null, session: null };
  return { ...name, method: "act", label: "act", ...open, ...empty, started_at: 1_000, ...change };
}

export function runStoreSuite(get: () => Store, { addSession }: Helpers): void {
  describe("runs", () => {
    it("come back as they were, newest first, and are found by the end of their id", async () => {
      const store = get();
      const runs = [runRow(), runRow({ workflow: "other", status: "parked", parked: null }), runRow({ owner: null })];
      for (const run of runs) await store.transact((tx) => tx.runs.insert(run));
      expect(await store.read.runs.get(runs[0]?.id ?? newId("run", 1))).toEqual(runs[0]);
      expect(await store.read.runs.list({ limit: 2 })).toEqual([runs[2], runs[1]]);
      expect(await store.read.runs.list({ workflow: "other", status: "parked", limit: 9 })).toEqual([runs[1]]);
      expect(await store.read.runs.endingWith(runs[1]?.id.slice(-8) ?? "", 2)).toEqual([runs[1]?.id]);
      const [first] = runs;
      if (!first) throw new Error("unreachable");
      await expect(store.transact((tx) => tx.runs.insert(first))).rejects.toMatchObject({ code: "conflict" });
    });

    it("end once, and give up their owner with it", async () => {
      const store = get();
      const run = runRow();
      await store.transact((tx) => tx.runs.insert(run));
      const error = { kind: "expected" as const, name: "WorkflowError", message: "no" };
      await store.transact((tx) => tx.runs.end(run.id, { status: "error", result: null, error, at: 9 }));
      expect(await store.read.runs.get(run.id)).toMatchObject({ status: "error", error, ended_at: 9, owner: null });
      expect(await store.read.runs.unfinished()).toEqual([]);
      const again = store.transact((tx) => tx.runs.end(run.id, { status: "ok", result: 1, error: null, at: 10 }));
      await expect(again).rejects.toMatchObject({ code: "conflict" });
      await expect(store.transact((tx) => tx.runs.update(newId("run", 1), { epoch: 1 }))).rejects.toMatchObject({
        code: "not_found",
      });
    });

    it("have their leases renewed by their owner only", async () => {
      const store = get();
      const [mine, theirs] = [runRow(), runRow({ owner: "you" })];
      await store.transact(async (tx) => {
        await tx.runs.insert(mine);
        await tx.runs.insert(theirs);
        await tx.runs.renew("me", 5_000);
      });
      expect((await store.read.runs.get(mine.id))?.lease_until).toBe(5_000);
      expect((await store.read.runs.get(theirs.id))?.lease_until).toBe(2_000);
      expect(await store.read.runs.hold(theirs.id)).toEqual({ status: "running", owner: "you" });
    });
  });

  describe("steps", () => {
    it("are begun and ended once, in an order of their own", async () => {
      const store = get();
      const { id } = runRow();
      await store.transact((tx) => tx.runs.insert(runRow({ id })));
      const [one, two] = [stepRow(id, { begun: "{}" }), stepRow(id, { occurrence: 1 })];
      await store.transact(async (tx) => {
        await tx.steps.insert(one);
        await tx.steps.insert({ ...two, status: "ok", ended: 1, ended_at: 2, result: "7" });
        const end = { status: "ok" as const, result: null, failure: null, error: null, at: 3 };
        await tx.steps.end(one, { ...end, ended: 2 });
      });
      expect((await store.read.steps.list(id)).map((step) => step.ended)).toEqual([2, 1]);
      expect(await store.read.steps.countEnded(id)).toBe(2);
      expect(await store.read.steps.list(id, { status: "begun" })).toEqual([]);
      await expect(store.transact((tx) => tx.steps.insert(one))).rejects.toMatchObject({ code: "conflict" });
      const end = { status: "ok" as const, ended: 3, result: null, failure: null, error: null, at: 3 };
      await expect(store.transact((tx) => tx.steps.end(one, end))).rejects.toMatchObject({ code: "conflict" });
      const nowhere = store.transact((tx) => tx.steps.insert(stepRow(newId("run", 1))));
      await expect(nowhere).rejects.toMatchObject({ code: "not_found" });
    });

    it("are forgotten from an epoch on or one by one, and copied up to an epoch", async () => {
      const store = get();
      const [from, to] = [runRow(), runRow()];
      await store.transact(async (tx) => {
        await tx.runs.insert(from);
        await tx.runs.insert(to);
        for (const epoch of [0, 1, 2]) {
          await tx.steps.insert(stepRow(from.id, { epoch, status: "ok", ended: epoch + 1, ended_at: 1 }));
          await tx.steps.insert(stepRow(from.id, { epoch, occurrence: 1 }));
        }
        await tx.steps.copy(from.id, to.id, 2);
        await tx.steps.remove(from.id, { epoch: 2 });
        await tx.steps.remove(from.id, { names: [stepRow(from.id, { epoch: 1 })] });
      });
      expect((await store.read.steps.list(to.id)).map((step) => [step.epoch, step.occurrence])).toEqual([
        [0, 0],
        [1, 0],
      ]);
      expect((await store.read.steps.list(from.id)).map((step) => [step.epoch, step.occurrence])).toEqual([
        [0, 0],
        [0, 1],
        [1, 1],
      ]);
    });

    it("tell which sessions their run should have closed", async () => {
      const store = get();
      const [ended, live] = [runRow({ ended_at: 5, status: "ok" }), runRow()];
      const [stray, kept, gone] = [await addSession(store), await addSession(store), await addSession(store)];
      await store.transact(async (tx) => {
        await tx.runs.insert(ended);
        await tx.runs.insert(live);
        await tx.sessions.update(gone.id, { state: "closed", closed_at: 1 });
        for (const [occurrence, session] of [stray.id, gone.id].entries())
          await tx.steps.insert(stepRow(ended.id, { occurrence, session }));
        await tx.steps.insert(stepRow(live.id, { session: kept.id }));
      });
      expect(await store.read.steps.straySessions()).toEqual([stray.id]);
      expect(await store.read.steps.sessions(ended.id)).toEqual([stray.id, gone.id]);
    });

    it("tell a session that another run, still in progress, has as well", async () => {
      const store = get();
      const [one, fork] = [runRow(), runRow()];
      const [own, shared] = [await addSession(store), await addSession(store)];
      await store.transact(async (tx) => {
        for (const run of [one, fork]) await tx.runs.insert(run);
        await tx.steps.insert(stepRow(one.id, { session: own.id }));
        for (const run of [one, fork]) await tx.steps.insert(stepRow(run.id, { occurrence: 1, session: shared.id }));
      });
      const unshared = () => store.read.steps.sessions(one.id, { unshared: true });
      expect(await unshared()).toEqual([own.id]);
      await store.transact((tx) => tx.runs.end(fork.id, { status: "ok", result: null, error: null, at: 5 }));
      expect(await unshared()).toEqual([own.id, shared.id]);
    });

    it("are listed by what they do and how they stand", async () => {
      const store = get();
      const run = runRow();
      await store.transact(async (tx) => {
        await tx.runs.insert(run);
        for (const [occurrence, method] of ["spawn", "bash", "spawn", "sleep"].entries())
          await tx.steps.insert(stepRow(run.id, { occurrence, method }));
      });
      const found = async (filter: Parameters<typeof store.read.steps.list>[1]) =>
        (await store.read.steps.list(run.id, filter)).map((step) => step.occurrence);
      expect(await found({ methods: ["spawn", "sleep"] })).toEqual([0, 2, 3]);
      expect(await found({ methods: ["spawn"], limit: 1 })).toEqual([0]);
      expect(await found({ methods: [] })).toEqual([]);
    });
  });

  describe("signals", () => {
    it("are added once by key, and wait in order until they are taken", async () => {
      const store = get();
      const { id } = runRow();
      await store.transact((tx) => tx.runs.insert(runRow({ id })));
      const signal = (key: string) => ({ run: id, key, name: "go", value: `"${key}"` });
      const added = await store.transact((tx) =>
        Promise.all(["a", "a", "b"].map((key) => tx.signals.add(signal(key)))),
      );
      expect(added).toEqual([true, false, true]);
      await store.transact((tx) => tx.signals.take(id, "a"));
      expect(await store.read.signals.waiting(id, "go")).toEqual([signal("b")]);
      expect(await store.read.signals.waiting(id, "stop")).toEqual([]);
      const nowhere = store.transact((tx) => tx.signals.add({ ...signal("c"), run: newId("run", 1) }));
      await expect(nowhere).rejects.toMatchObject({ code: "not_found" });
    });
  });
}
