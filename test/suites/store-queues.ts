/** What every implementation of the store port must do with queues and tasks. */

import { newId } from "@aegis/contract/ids.ts";
import { type Attempt, queueSettingsSchema, type Task } from "@aegis/contract/task.ts";
import type { SessionRow, Store } from "@aegis/store/store.ts";
import { describe, expect, it } from "vitest";
import { task } from "../helpers/rows.ts";

type Helpers = { addSession(store: Store, change?: Partial<SessionRow>): Promise<SessionRow> };

function attempt(of: Task, change: Partial<Attempt> = {}): Attempt {
  return {
    task: of.id,
    queue: of.queue,
    number: 1,
    worker: newId("ses", 1_000),
    started_at: 1_000,
    ended_at: null,
    error: null,
    output_tokens: null,
    cost: null,
    ...change,
  };
}

export function queueStoreSuite(current: () => Store, { addSession }: Helpers): void {
  const add = async (...tasks: Task[]) => {
    for (const one of tasks) await current().transact((tx) => tx.tasks.insert(one));
    return tasks;
  };

  describe("queues", () => {
    it("are kept, replaced and removed", async () => {
      const store = current();
      const settings = queueSettingsSchema.parse({ agent: "dev", budgets: [{ usd: 1.5, window: "1d" }] });
      await store.transact((tx) => tx.queues.put({ name: "b", settings, paused: false }));
      await store.transact((tx) => tx.queues.put({ name: "a", settings: null, paused: true }));
      await store.transact((tx) => tx.queues.put({ name: "b", settings, paused: true }));
      expect(await store.read.queues.list()).toEqual([
        { name: "a", settings: null, paused: true },
        { name: "b", settings, paused: true },
      ]);
      await store.transact((tx) => tx.queues.remove("b"));
      expect(await store.read.queues.get("b")).toBeNull();
    });
  });

  describe("tasks", () => {
    it("come back as they were, once for each id", async () => {
      const store = current();
      const [one] = await add(task({ callback: false, chain: newId("msg", 1), hops: 3, not_before: 5 }));
      if (one === undefined) throw new Error("no task");
      expect(await store.read.tasks.get(one.id)).toEqual(one);
      await expect(add(one)).rejects.toMatchObject({ code: "conflict" });
      const change = { status: "completed", result: "done", ended_at: 9, not_before: null } as const;
      await store.transact((tx) => tx.tasks.update(one.id, change));
      expect(await store.read.tasks.get(one.id)).toEqual({ ...one, ...change });
      const missing = store.transact((tx) => tx.tasks.update(newId("tsk", 1), { hops: 1 }));
      await expect(missing).rejects.toMatchObject({ code: "not_found" });
    });

    it("wait in order, each in its queue, those that are not due aside", async () => {
      const store = current();
      const [late, first, other, second] = await add(
        task({ not_before: 50 }),
        task(),
        task({ queue: "other" }),
        task({ not_before: 40 }),
      );
      if (!late || !first || !other || !second) throw new Error("no tasks");
      const next = async (now: number) => (await store.read.tasks.next("work", now))?.id;
      expect(await next(10)).toBe(first.id);
      expect(await store.read.tasks.nextDue("work")).toBe(40);
      expect(await next(50)).toBe(late.id);
      const places = await Promise.all([late, first, other, second].map((one) => store.read.tasks.position(one.id)));
      expect(places).toEqual([1, 2, 1, 3]);
      await store.transact((tx) => tx.tasks.moveToEnd(late.id));
      expect(await store.read.tasks.position(late.id)).toBe(3);
      await store.transact((tx) => tx.tasks.update(first.id, { status: "dispatched" }));
      expect(await store.read.tasks.position(first.id)).toBeNull();
      expect(await store.read.tasks.countDispatched("work")).toBe(1);
      expect(await store.read.tasks.countDispatched("other")).toBe(0);
      expect(await store.read.tasks.dispatched()).toMatchObject([{ id: first.id }]);
      expect(await store.read.tasks.nextDue("nowhere")).toBeNull();
    });

    it("are owed to their producer until they end", async () => {
      const store = current();
      const producer = newId("ses", 1);
      const [waiting, working] = await add(
        task({ producer }),
        task({ producer, status: "dispatched", queue: "other" }),
        task({ producer, status: "failed" }),
        task({ producer, callback: false }),
        task(),
      );
      expect(await store.read.tasks.owedTo(producer)).toEqual([waiting, working]);
    });

    it("are listed newest first and counted by queue", async () => {
      const store = current();
      const tasks = await add(task(), task({ status: "failed" }), task({ queue: "other", status: "failed" }));
      const ids = tasks.map((one) => one.id).reverse();
      const listed = async (filter: Parameters<Store["read"]["tasks"]["list"]>[0]) =>
        (await store.read.tasks.list(filter)).map((one) => one.id);
      expect(await listed({ limit: 10 })).toEqual(ids);
      expect(await listed({})).toEqual(ids);
      expect(await listed({ limit: 1 })).toEqual(ids.slice(0, 1));
      expect(await listed({ status: "failed", limit: 10 })).toEqual(ids.slice(0, 2));
      expect(await listed({ queue: "work", status: "failed", limit: 10 })).toEqual(ids.slice(1, 2));
      const none = { pending: 0, dispatched: 0, completed: 0, failed: 0, cancelled: 0 };
      expect(await store.read.tasks.counts()).toEqual(
        new Map([
          ["other", { ...none, failed: 1 }],
          ["work", { ...none, pending: 1, failed: 1 }],
        ]),
      );
    });

    it("keep their tries, which end once and are found by when", async () => {
      const store = current();
      const { tasks } = store.read;
      const [one] = await add(task());
      if (one === undefined) throw new Error("no task");
      const [first, second] = [attempt(one), attempt(one, { number: 2, started_at: 2_000 })];
      await store.transact(async (tx) => {
        await tx.tasks.insertAttempt(first);
        await tx.tasks.insertAttempt(second);
      });
      const end = { at: 3_000, error: "no", output_tokens: 7, cost: null };
      await store.transact((tx) => tx.tasks.endAttempt(one.id, 1, end));
      const ended = { ...first, ended_at: 3_000, error: "no", output_tokens: 7 };
      expect(await tasks.attempts(one.id)).toEqual([ended, second]);
      const again = store.transact((tx) => tx.tasks.endAttempt(one.id, 1, end));
      await expect(again).rejects.toMatchObject({ code: "conflict" });
      expect(await tasks.attemptsSince("work", 2_999)).toEqual([ended, second]);
      expect(await tasks.attemptsSince("work", 3_000)).toEqual([second]);
      expect(await tasks.recentAttempts("work", 5)).toEqual([ended]);
      const orphan = store.transact((tx) => tx.tasks.insertAttempt(attempt(task())));
      await expect(orphan).rejects.toMatchObject({ code: "not_found" });
    });

    it("know the open sessions of tries that are over", async () => {
      const store = current();
      const [left, closed, working] = [
        await addSession(store),
        await addSession(store, { closed_at: 2_000, state: "closed" }),
        await addSession(store),
      ];
      const [one] = await add(task());
      if (one === undefined) throw new Error("no task");
      await store.transact(async (tx) => {
        await tx.tasks.insertAttempt(attempt(one, { number: 1, worker: left.id, ended_at: 5 }));
        await tx.tasks.insertAttempt(attempt(one, { number: 2, worker: closed.id, ended_at: 5 }));
        await tx.tasks.insertAttempt(attempt(one, { number: 3, worker: working.id }));
      });
      expect(await store.read.tasks.strayWorkers()).toEqual([left.id]);
    });

    it("have events that are found by their queue", async () => {
      const store = current();
      await store.transact(async (tx) => {
        await tx.events.append({ type: "queue.paused", session: null, data: { queue: "work" } }, 1);
        await tx.events.append({ type: "queue.paused", session: null, data: { queue: "other" } }, 2);
        await tx.events.append({ type: "daemon.stopping", session: null, data: { reason: "x" } }, 3);
        await tx.events.append({ type: "queue.resumed", session: null, data: { queue: "work" } }, 4);
      });
      const seqs = async (after: number) =>
        (await store.read.events.list({ queue: "work", after, limit: 10 })).map((event) => event.seq);
      expect(await seqs(0)).toEqual([1, 4]);
      expect(await seqs(1)).toEqual([4]);
    });
  });
}
