/** What every implementation of the store port must do. */

import type { Event, NewEvent } from "@aegis/contract/event.ts";
import { type MessageId, newId, type SessionId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import { textDigest } from "@aegis/lib/text-digest.ts";
import type { MessageFilter, SessionRow, Store, StoreTx } from "@aegis/store/store.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { message, sessionRow, turnRow } from "../helpers/rows.ts";
import { groupStoreSuite } from "./store-groups.ts";
import { queueStoreSuite } from "./store-queues.ts";
import { randomUnits } from "./store-random-units.ts";
import { referenceStoreSuite } from "./store-references.ts";
import { runStoreSuite } from "./store-runs.ts";
import { scheduleStoreSuite } from "./store-schedules.ts";
import { severalWritersSuite } from "./store-several.ts";
import { subagentStoreSuite } from "./store-subagents.ts";
import { usageStoreSuite } from "./store-usage.ts";

export type StoreUnderTest = {
  store: Store;
  /** Opens the same data again, as another process would. */
  another?(): Promise<Store>;
  dispose(): Promise<void>;
};

export function notice(session: SessionId | null, text: string): NewEvent {
  return { type: "session.notice", session, data: { level: "info", text } };
}

export async function addSession(store: Store, change: Partial<SessionRow> = {}): Promise<SessionRow> {
  const row = sessionRow(change);
  await store.transact((tx) => tx.sessions.insert(row));
  return row;
}

/** `writers` is how many processes may write to the same data at once. */
export function storeSuite(
  name: string,
  make: () => Promise<StoreUnderTest>,
  { writers }: { writers: "one" | "several" },
): void {
  describe(`${name} as a store`, () => {
    let store: Store;
    let under: StoreUnderTest;

    beforeEach(async () => {
      under = await make();
      store = under.store;
    });
    afterEach(async () => {
      await under.dispose();
    });

    describe("transactions", () => {
      it("give back what the unit gives back", async () => {
        expect(await store.transact(async () => 42)).toBe(42);
      });

      it("store everything a unit wrote, or nothing of it", async () => {
        const row = sessionRow();
        const failing = store.transact(async (tx) => {
          await tx.sessions.insert(row);
          await tx.messages.insert(message(row.id));
          await tx.events.append(notice(row.id, "never"), 1);
          throw new Error("changed my mind");
        });
        await expect(failing).rejects.toThrow("changed my mind");
        expect(await store.read.sessions.get(row.id)).toBeNull();
        expect(await store.read.messages.waiting()).toEqual([]);
        expect(await store.read.events.lastSeq()).toBe(0);
      });

      it("that arrive together fail and succeed alone", async () => {
        const { id } = await addSession(store);
        const results = await Promise.allSettled(
          Array.from({ length: 60 }, (_, n) =>
            store.transact(async (tx) => {
              await tx.messages.insert(message(id, { body: String(n) }));
              await tx.events.append(notice(id, String(n)), n);
              if (n % 3 === 0) throw new Error(`unit ${n}`);
              return n;
            }),
          ),
        );
        const kept = Array.from({ length: 60 }, (_, n) => n).filter((n) => n % 3 !== 0);
        expect(results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []))).toEqual(kept);
        expect((await store.read.messages.list(id)).map((row) => Number(row.body))).toEqual(kept);
        const events = await store.read.events.list({ session: id, limit: 100 });
        expect(events.map((event) => event.at)).toEqual(kept);
        expect(events.map((event) => event.seq)).toEqual(kept.map((_, index) => index + 1));
      });

      it("that arrive together read what those before them appended, whichever of them fail", async () => {
        const { id } = await addSession(store);
        const unit = (n: number) => async (tx: StoreTx) => {
          const append = () => tx.events.append(notice(id, String(n)), n);
          const insert = (body: string | null) => tx.messages.insert(message(id, { body: body as string }));
          switch (n % 6) {
            case 0:
              return insert(null);
            case 1:
              return await append();
            case 2:
              await insert(String(n));
              return await append();
            case 3: {
              const { seq } = await append();
              expect(await tx.events.lastSeq()).toBe(seq);
              throw new Error("after it read the log");
            }
            case 4:
              expect(await tx.sessions.get(newId("ses", 1))).toBeNull();
              throw new Error("after it read a table");
            default:
              await expect(tx.messages.insert(message(newId("ses", 1)))).rejects.toMatchObject({ code: "not_found" });
              await insert(String(n));
              return await append();
          }
        };
        const numbers = Array.from({ length: 60 }, (_, n) => n);
        const results = await Promise.allSettled(numbers.map((n) => store.transact(unit(n))));
        const kept = numbers.filter((n) => [1, 2, 5].includes(n % 6));
        expect(numbers.filter((n) => results[n]?.status === "fulfilled")).toEqual(kept);
        const events = await store.read.events.list({ session: id, limit: 100 });
        expect(events.map(({ seq, at }) => [seq, at])).toEqual(kept.map((n, index) => [index + 1, n]));
        const stored = (await store.read.messages.list(id)).map(({ body }) => Number(body));
        expect(stored).toEqual(kept.filter((n) => n % 6 !== 1));
      });

      it.each([1, 2, 3, 4])("that arrive together do what they do one after the other (%i)", async (seed) => {
        const together = await randomUnits(store, seed, (units) => Promise.allSettled(units.map((unit) => unit())));
        const inTurn = await randomUnits(store, seed, async (units) => {
          const results: PromiseSettledResult<unknown>[] = [];
          for (const unit of units) results.push(...(await Promise.allSettled([unit()])));
          return results;
        });
        expect(together).toEqual(inTurn);
      });

      it("see their own writes, which no other reader sees before the commit", async () => {
        const row = sessionRow();
        await store.transact(async (tx) => {
          await tx.sessions.insert(row);
          await tx.events.append(notice(row.id, "inside"), 1);
          expect(await tx.sessions.byHandle(row.handle)).toEqual(row);
          expect(await tx.events.lastSeq()).toBe(1);
          expect(await store.read.sessions.byHandle(row.handle)).toBeNull();
          expect(await store.read.events.lastSeq()).toBe(0);
        });
        expect(await store.read.sessions.byHandle(row.handle)).toEqual(row);
      });

      it("can go on after a conflict they expected", async () => {
        const { id } = await addSession(store);
        const first = message(id);
        await store.transact((tx) => tx.messages.insert(first));
        await store.transact(async (tx) => {
          await expect(tx.messages.insert(first)).rejects.toMatchObject({ code: "conflict" });
          await tx.messages.insert(message(id, { body: "second" }));
        });
        expect((await store.read.messages.list(id)).map((row) => row.body)).toEqual(["hello", "second"]);
      });

      it("can go on after a missing row, but not after any other failed write, even if they caught it", async () => {
        const { id } = await addSession(store);
        const swallowed = store.transact(async (tx) => {
          await tx.messages.insert(message(id));
          await tx.messages.insert(message(newId("ses", 1))).catch(() => {});
          await tx.messages.insert(message(id, { body: null as unknown as string })).catch(() => {});
        });
        const beside = store.transact((tx) => tx.messages.insert(message(id, { body: "beside" })));
        await expect(swallowed).rejects.toMatchObject({ name: "AegisError" });
        await beside;
        expect((await store.read.messages.list(id)).map((row) => row.body)).toEqual(["beside"]);
      });

      it("are refused when they await anything but the store, and affect no other unit", async () => {
        const { id } = await addSession(store);
        const gate = Promise.withResolvers<void>();
        let late: Promise<unknown> = Promise.resolve();
        const before = store.transact((tx) => tx.messages.insert(message(id, { body: "before" })));
        const stuck = store.transact(async (tx) => {
          await tx.messages.insert(message(id, { body: "stuck" }));
          await gate.promise;
          late = tx.messages.insert(message(id, { body: "late" }));
          await late;
        });
        const after = store.transact((tx) => tx.messages.insert(message(id, { body: "after" })));
        await expect(stuck).rejects.toThrow("may only await the store");
        await Promise.all([before, after]);
        gate.resolve();
        await gate.promise;
        await store.transact(async () => {});
        await expect(late).rejects.toThrow("this transaction is over");
        expect((await store.read.messages.list(id)).map((row) => row.body)).toEqual(["before", "after"]);
      });

      it("inside a transaction are refused, not a deadlock", async () => {
        const inner: Promise<number>[] = [];
        const outer = store.transact(async () => {
          inner.push(store.transact(async () => 1));
          return await inner[0];
        });
        await expect(outer).rejects.toThrow("may only await the store");
        expect(await Promise.all(inner)).toEqual([1]);
      });

      it("cannot be used after they ended", async () => {
        const kept: StoreTx[] = [];
        await store.transact(async (tx) => void kept.push(tx));
        await expect(kept[0]?.sessions.insert(sessionRow())).rejects.toThrow("this transaction is over");
        expect(await store.read.sessions.list()).toEqual([]);
      });

      it("are refused once the store is closed; those waiting are finished", async () => {
        const row = sessionRow();
        const waiting = store.transact((tx) => tx.sessions.insert(row));
        const closed = store.close();
        await expect(store.transact(async () => {})).rejects.toMatchObject({ code: "unavailable" });
        await waiting;
        await closed;
        await expect(store.read.sessions.get(row.id)).rejects.toMatchObject({ code: "unavailable" });
        await store.close();
      });
    });

    describe("the feed", () => {
      it("has every event once, in order, before the writer goes on, and already readable", async () => {
        const { id } = await addSession(store);
        const fed: Event[] = [];
        const readable: Promise<number>[] = [];
        store.onCommit((events) => {
          fed.push(...events);
          readable.push(store.read.events.lastSeq());
        });
        await Promise.all(
          Array.from({ length: 40 }, async (_, writer) => {
            for (let n = 0; n < 5; n++) {
              const own = await store.transact(async (tx) => [
                await tx.events.append(notice(id, `${writer}.${n}.a`), n),
                await tx.events.append(notice(null, `${writer}.${n}.b`), n),
              ]);
              expect(fed.map((event) => event.seq)).toEqual(expect.arrayContaining(own.map((event) => event.seq)));
            }
          }),
        );
        expect(fed.map((event) => event.seq)).toEqual(Array.from({ length: 400 }, (_, n) => n + 1));
        expect(fed).toEqual(await store.read.events.list({ limit: 1_000 }));
        expect((await Promise.all(readable)).at(-1)).toBe(400);
      });

      it("calls a listener that names types for events of these types only", async () => {
        const { id } = await addSession(store);
        const fed: { seq: number; type: string }[][] = [];
        store.onCommit(
          (events) => void fed.push(events.map(({ seq, type }) => ({ seq, type }))),
          ["daemon.stopping", "session.closed"],
        );
        const stopping = { type: "daemon.stopping", session: null, data: { reason: "x" } } as const;
        const both = await store.transact(async (tx) => {
          await tx.events.append(notice(id, "a"), 1);
          const first = await tx.events.append(stopping, 2);
          await tx.events.append(notice(id, "b"), 3);
          return [first, await tx.events.append(stopping, 4)];
        });
        await store.transact((tx) => tx.events.append(notice(id, "c"), 5));
        expect(fed).toEqual([both.map(({ seq, type }) => ({ seq, type }))]);
      });

      it("calls no listener whose subject is empty", async () => {
        const fed: number[] = [];
        const subject = new Set<string>();
        const listener = (events: readonly Event[]) => void fed.push(...events.map((event) => event.at));
        store.onCommit(listener, undefined, "all", subject);
        await store.transact((tx) => tx.events.append(notice(null, "x"), 1));
        subject.add("one");
        await store.transact((tx) => tx.events.append(notice(null, "x"), 2));
        subject.clear();
        await store.transact((tx) => tx.events.append(notice(null, "x"), 3));
        expect(fed).toEqual([2]);
      });

      it("never has what was rolled back", async () => {
        const fed: number[] = [];
        store.onCommit((events) => void fed.push(...events.map((event) => event.at)));
        await Promise.allSettled(
          [1, 2, 3, 4].map((n) =>
            store.transact(async (tx) => {
              await tx.events.append(notice(null, "x"), n);
              if (n % 2 === 1) throw new Error("no");
            }),
          ),
        );
        expect(fed).toEqual([2, 4]);
      });

      it("outlives a listener that throws, and ends with its undo", async () => {
        const fed: number[] = [];
        store.onCommit(() => {
          throw new Error("a bad listener");
        });
        const undo = store.onCommit((events) => void fed.push(...events.map((event) => event.at)));
        const again = store.onCommit((events) => void fed.push(...events.map((event) => -event.at)));
        await store.transact((tx) => tx.events.append(notice(null, "x"), 7));
        undo();
        await store.transact((tx) => tx.events.append(notice(null, "x"), 8));
        again();
        await store.transact((tx) => tx.events.append(notice(null, "x"), 9));
        expect(fed).toEqual([7, -7, -8]);
      });
    });

    describe("sessions", () => {
      it("come back as they were put in, newest first", async () => {
        const first = await addSession(store, { title: "one", title_source: "human", resume: "abc", offline: false });
        const second = await addSession(store, { parent: first.id, state: "error", error: "broke" });
        const third = await addSession(store, { state: "closed", closed_at: 5 });
        expect(await store.read.sessions.get(first.id)).toEqual(first);
        expect(await store.read.sessions.list()).toEqual([third, second, first]);
        expect(await store.read.sessions.list({ closed: false })).toEqual([second, first]);
        expect(await store.read.sessions.list({ closed: true })).toEqual([third]);
        expect(await store.read.sessions.countByState()).toEqual({ ready: 1, working: 0, error: 1, closed: 1 });
      });

      it("change only what is named", async () => {
        const row = await addSession(store, { resume: "abc" });
        await store.transact((tx) =>
          tx.sessions.update(row.id, { state: "working", title: "t", title_source: "auto" }),
        );
        expect(await store.read.sessions.get(row.id)).toEqual({
          ...row,
          state: "working",
          title: "t",
          title_source: "auto",
        });
        await store.transact((tx) => tx.sessions.update(row.id, { resume: null }));
        expect((await store.read.sessions.get(row.id))?.resume).toBeNull();
        const missing = store.transact((tx) => tx.sessions.update(newId("ses", 1), { title: "x" }));
        await expect(missing).rejects.toMatchObject({ code: "not_found" });
      });

      it("share a handle only when at most one is alive", async () => {
        const first = await addSession(store, { handle: "lucid-hertz" });
        await expect(addSession(store, { handle: "lucid-hertz" })).rejects.toMatchObject({
          code: "conflict",
          message: expect.stringContaining("lucid-hertz"),
        });
        const other = await addSession(store, { handle: "calm-planck" });
        const rename = store.transact((tx) => tx.sessions.update(other.id, { handle: "lucid-hertz" }));
        await expect(rename).rejects.toMatchObject({ code: "conflict" });
        await store.transact((tx) => tx.sessions.update(first.id, { state: "closed", closed_at: 9 }));
        await store.transact((tx) => tx.sessions.update(other.id, { handle: "lucid-hertz" }));
        expect((await store.read.sessions.byHandle("lucid-hertz"))?.id).toBe(other.id);
        expect(await store.read.sessions.byHandle("calm-planck")).toBeNull();
      });
    });

    describe("messages", () => {
      it("keep the order of admission, whatever their ids and times", async () => {
        const { id } = await addSession(store);
        const ids = [3, 1, 2].map((time) => newId("msg", time));
        for (const each of ids) await store.transact((tx) => tx.messages.insert(message(id, { id: each })));
        expect((await store.read.messages.list(id)).map((row) => row.id)).toEqual(ids);
        const page = async (filter: MessageFilter) =>
          (await store.read.messages.list(id, filter)).map((row) => ids.indexOf(row.id));
        const last = ids.length - 1;
        expect(await page({ limit: 2 })).toEqual([0, 1]);
        expect(await page({ limit: 2, from: "newest" })).toEqual([last - 1, last]);
        const before = ids[last - 1] as MessageId;
        expect(await page({ limit: 1, from: "newest", before })).toEqual([last - 2]);
        expect(await page({ limit: 1, before })).toEqual([0]);
        expect(await page({ before: ids[0] as MessageId })).toEqual([]);
        const named = await store.read.messages.named([before, newId("msg", 1), ids[0] as MessageId]);
        expect(named.map((row) => row.id)).toEqual([ids[0], before]);
        expect(await store.read.messages.named([])).toEqual([]);
      });

      it("are admitted once, also by two at the same time", async () => {
        const { id } = await addSession(store);
        const row = message(id);
        const results = await Promise.allSettled([1, 2].map(() => store.transact((tx) => tx.messages.insert(row))));
        expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected"]);
        expect(results[1]).toMatchObject({ reason: { code: "conflict" } });
        expect(await store.read.messages.list(id)).toEqual([row]);
      });

      it("need a session", async () => {
        const orphan = store.transact((tx) => tx.messages.insert(message(newId("ses", 1))));
        await expect(orphan).rejects.toMatchObject({ code: "not_found" });
      });

      it("are counted and found by status, session and turn", async () => {
        const [a, b, c] = [await addSession(store), await addSession(store), await addSession(store)];
        const turn = newId("trn", 1);
        const rows = [message(b.id), message(a.id), message(a.id), message(c.id)];
        for (const row of rows) await store.transact((tx) => tx.messages.insert(row));
        expect(await store.read.messages.waiting()).toEqual([b.id, a.id, c.id]);
        const taken = [rows[1]?.id, rows[3]?.id] as MessageId[];
        await store.transact((tx) => tx.messages.setStatus(taken, "dispatched", turn));
        expect(await store.read.messages.waiting()).toEqual([b.id, a.id]);
        expect(await store.read.messages.countPending(a.id)).toBe(1);
        expect(await store.read.messages.countPending(c.id)).toBe(0);
        expect(await store.read.messages.pendingBySession()).toEqual(
          new Map([
            [a.id, 1],
            [b.id, 1],
          ]),
        );
        expect((await store.read.messages.inTurn(turn)).map((row) => row.id)).toEqual(taken);
        const inTurns = await store.read.messages.inTurns([turn, newId("trn", 1)]);
        expect(inTurns.map((row) => row.id)).toEqual(taken);
        expect(await store.read.messages.inTurns([])).toEqual([]);
        expect((await store.read.messages.list(a.id, { status: "dispatched" })).map((row) => row.id)).toEqual([
          rows[1]?.id,
        ]);
        expect((await store.read.messages.list(a.id, { status: "pending", limit: 5 })).map((row) => row.id)).toEqual([
          rows[2]?.id,
        ]);
        await store.transact((tx) => tx.messages.setStatus(taken, "pending", null));
        expect(await store.read.messages.inTurn(turn)).toEqual([]);
        const missing = store.transact((tx) => tx.messages.setStatus([newId("msg", 1)], "done", turn));
        await expect(missing).rejects.toMatchObject({ code: "not_found" });
      });

      it("keep the text as it was sent beside the text that hooks made of it, each message seen once", async () => {
        const { id } = await addSession(store);
        const notice = message(id, { sender: { kind: "substrate" } });
        const [same, changed, taken] = [message(id), message(id, { body: "before" }), message(id)];
        await store.transact(async (tx) => {
          for (const row of [notice, same, changed, taken]) await tx.messages.insert(row);
          await tx.messages.setStatus([taken.id], "pending", newId("trn", 1));
        });
        expect((await store.read.messages.unseen(id)).map((row) => row.id)).toEqual([same.id, changed.id]);
        await store.transact(async (tx) => {
          await tx.messages.receive(same.id, same.body);
          await tx.messages.receive(changed.id, "after");
        });
        expect(await store.read.messages.unseen(id)).toEqual([]);
        expect(await store.read.messages.get(same.id)).toMatchObject({ body: same.body, sent: null });
        expect(await store.read.messages.get(changed.id)).toMatchObject({ body: "after", sent: "before" });
        expect(await store.read.messages.sentAs(same.id)).toBeNull();
        expect(await store.read.messages.sentAs(changed.id)).toBe(textDigest("before"));
        const missing = store.transact((tx) => tx.messages.receive(newId("msg", 1), "x"));
        await expect(missing).rejects.toMatchObject({ code: "not_found" });
      });

      it("can get other texts, and keep the digest of what was sent", async () => {
        const { id } = await addSession(store);
        const [plain, changed] = [message(id), message(id, { body: "after", sent: "before" })];
        await store.transact(async (tx) => {
          for (const row of [plain, changed]) await tx.messages.insert(row);
          await tx.messages.replaceText(plain.id, { body: "clean", sent: null });
          await tx.messages.replaceText(changed.id, { body: "clean", sent: "cleaner" });
        });
        expect(await store.read.messages.get(plain.id)).toMatchObject({ body: "clean", sent: null });
        expect(await store.read.messages.sentAs(plain.id)).toBe(textDigest(plain.body));
        expect(await store.read.messages.get(changed.id)).toMatchObject({ body: "clean", sent: "cleaner" });
        expect(await store.read.messages.sentAs(changed.id)).toBe(textDigest("before"));
        const missing = store.transact((tx) => tx.messages.replaceText(newId("msg", 1), { body: "x", sent: null }));
        await expect(missing).rejects.toMatchObject({ code: "not_found" });
      });

      it("carry any text and any sender unchanged", async () => {
        const { id } = await addSession(store);
        const nul = ["\0", "a\0b\u2400", "\u24000\0", "\u2400", "\\u0000"];
        const bodies = [
          ...nul,
          "a\u2028b\u2029c",
          "\u{1F9EA} é ü 漢字 \ufeff",
          "'; DROP TABLE messages; --",
          '\r\n\t\\"',
          "",
        ];
        const senders: Message["sender"][] = [
          { kind: "agent", session: id, handle: "calm-planck" },
          { kind: "queue", name: "q", task: "tsk_1", status: "error" },
          { kind: "workflow", name: "w", run: "run_1", status: null },
        ];
        const rows = [
          ...bodies.map((body) => message(id, { body })),
          ...senders.map((sender) => message(id, { sender })),
        ];
        await store.transact(async (tx) => {
          for (const row of rows) await tx.messages.insert(row);
        });
        expect(await store.read.messages.list(id)).toEqual(rows);
      });

      it("may be a megabyte long, as may events and turns", async () => {
        const { id } = await addSession(store);
        const body = "é\u2028".repeat(200_000);
        const row = message(id, { body });
        const turn = turnRow(id, { text: body });
        await store.transact(async (tx) => {
          await tx.messages.insert(row);
          await tx.turns.insert(turn);
          await tx.events.append({ type: "message.admitted", session: id, data: { message: row } }, 1);
        });
        expect((await store.read.messages.get(row.id))?.body).toBe(body);
        expect((await store.read.turns.get(turn.id))?.text).toBe(body);
        const [event] = await store.read.events.list({ limit: 1 });
        expect(event?.data).toEqual({ message: row });
      });
    });

    describe("turns", () => {
      const ended = { at: 2_000, error: null, text: "done", usage: null } as const;

      it("begin, are accepted and end once", async () => {
        const { id } = await addSession(store);
        const turn = turnRow(id);
        await store.transact((tx) => tx.turns.insert(turn));
        expect(await store.read.turns.open()).toEqual([turn]);
        await store.transact((tx) => tx.turns.accept(turn.id));
        expect((await store.read.turns.get(turn.id))?.accepted).toBe(true);
        const usage = { input: 1, cache_read: 2, cache_write: 3, output: 4, cost: 0.25 };
        await store.transact((tx) => tx.turns.spend(turn.id, { ...usage, cost: null }));
        expect((await store.read.turns.get(turn.id))?.usage).toEqual({ ...usage, cost: null });
        const error = { code: "died", message: "gone", stderr: "x\ny" };
        await store.transact((tx) =>
          tx.turns.end(turn.id, { at: 2_000, reason: "failed", error, text: "so far", usage, seq: 12 }),
        );
        const after = { ...turn, accepted: true, ended_at: 2_000, reason: "failed", error, text: "so far", usage };
        expect(await store.read.turns.get(turn.id)).toEqual(after);
        expect(await store.read.turns.open()).toEqual([]);
        const again = store.transact((tx) => tx.turns.end(turn.id, { ...ended, reason: "completed", seq: 13 }));
        await expect(again).rejects.toMatchObject({ code: "conflict" });
        const late = store.transact((tx) => tx.turns.spend(turn.id, usage));
        await expect(late).rejects.toMatchObject({ code: "conflict" });
        expect(await store.read.turns.get(turn.id)).toEqual(after);
        const missing = store.transact((tx) => tx.turns.accept(newId("trn", 1)));
        await expect(missing).rejects.toMatchObject({ code: "not_found" });
      });

      it("are summed up for each session and for all open ones, whether they have ended or run", async () => {
        const [a, b] = [await addSession(store), await addSession(store)];
        const usage = { input: 10, cache_read: 2, cache_write: 3, output: 4, cost: 0.25 };
        const free = { ...usage, cost: null };
        expect([await store.read.turns.usage(a.id), await store.read.turns.usage()]).toEqual([null, null]);
        const spend = async (session: SessionId, spent: typeof free | typeof usage | null, isEnd: boolean) => {
          const turn = turnRow(session);
          await store.transact((tx) => tx.turns.insert(turn));
          if (spent !== null) await store.transact((tx) => tx.turns.spend(turn.id, spent));
          const end = { ...ended, reason: "completed", usage: spent, seq: 1 } as const;
          if (isEnd) await store.transact((tx) => tx.turns.end(turn.id, end));
        };
        await spend(a.id, free, true);
        const first = { turns: 1, input: 10, cache_read: 2, cache_write: 3, output: 4, cost: null, cost_unknown: 1 };
        expect(await store.read.turns.usage(a.id)).toEqual(first);
        await spend(a.id, usage, true);
        await spend(a.id, usage, false);
        await spend(a.id, null, true);
        await spend(b.id, usage, true);
        const three = { turns: 3, input: 30, cache_read: 6, cache_write: 9, output: 12, cost: 0.5, cost_unknown: 1 };
        expect(await store.read.turns.usage(a.id)).toEqual(three);
        const one = { turns: 1, input: 10, cache_read: 2, cache_write: 3, output: 4, cost: 0.25, cost_unknown: 0 };
        expect(await store.read.turns.usage(b.id)).toEqual(one);
        expect(await store.read.turns.usage()).toMatchObject({ turns: 4, input: 40, cost: 0.75, cost_unknown: 1 });
        await store.transact((tx) => tx.sessions.update(a.id, { state: "closed", closed_at: 9 }));
        expect(await store.read.turns.usage()).toEqual(one);
        expect(await store.read.turns.usage(a.id)).toEqual(three);
        const states = { ready: 1, working: 0, error: 0, closed: 1 };
        expect(await store.read.sessions.countByState()).toEqual(states);
      });

      it("are listed newest first and counted by where they ended", async () => {
        const [a, b] = [await addSession(store), await addSession(store)];
        const turns = [turnRow(a.id), turnRow(a.id), turnRow(a.id), turnRow(b.id)];
        for (const [n, turn] of turns.entries()) {
          await store.transact((tx) => tx.turns.insert(turn));
          if (n !== 2)
            await store.transact((tx) => tx.turns.end(turn.id, { ...ended, reason: "completed", seq: 10 * (n + 1) }));
        }
        expect((await store.read.turns.list(a.id, 2)).map((turn) => turn.id)).toEqual([turns[2]?.id, turns[1]?.id]);
        const until = async (seq: number) => (await store.read.turns.list(a.id, 9, seq)).map((turn) => turn.id);
        expect(await until(19)).toEqual([turns[0]?.id]);
        expect(await until(40)).toEqual([turns[1]?.id, turns[0]?.id]);
        expect(await store.read.turns.countEndedAfter(a.id, 0)).toBe(2);
        expect(await store.read.turns.countEndedAfter(a.id, 10)).toBe(1);
        expect(await store.read.turns.countEndedAfter(a.id, 20)).toBe(0);
        expect(await store.read.turns.countEndedAfter(b.id, 10)).toBe(1);
      });
    });

    describe("events", () => {
      it("are listed by number, session and type, from either end, always in order", async () => {
        const [a, b] = [await addSession(store), await addSession(store)];
        await store.transact(async (tx) => {
          for (let n = 1; n <= 10; n++) await tx.events.append(notice(n % 2 === 0 ? a.id : b.id, String(n)), n);
          await tx.events.append({ type: "session.state", session: a.id, data: { state: "working", error: null } }, 11);
        });
        const seqs = async (query: Parameters<typeof store.read.events.list>[0]) =>
          (await store.read.events.list(query)).map((event) => event.seq);
        expect(await seqs({ limit: 3 })).toEqual([1, 2, 3]);
        expect(await seqs({ after: 8, limit: 100 })).toEqual([9, 10, 11]);
        expect(await seqs({ limit: 3, from: "newest" })).toEqual([9, 10, 11]);
        expect(await seqs({ before: 9, session: a.id, limit: 2, from: "newest" })).toEqual([6, 8]);
        expect(await seqs({ after: 2, before: 8, session: a.id, limit: 100 })).toEqual([4, 6]);
        expect(await seqs({ types: ["session.state", "turn.ended"], limit: 100 })).toEqual([11]);
        expect(await seqs({ types: [], limit: 100 })).toEqual([]);
        expect(await store.read.events.lastSeq()).toBe(11);
      });

      it("are read as texts, and their sizes without them", async () => {
        const { id } = await addSession(store);
        const texts = ["short", 'ein längerer Text\nmit "Zeichen" 🦉', "x".repeat(100_000)];
        await store.transact(async (tx) => {
          for (const text of texts) await tx.events.append(notice(id, text), 1);
          await tx.events.append({ type: "daemon.started", session: null, data: { version: "1", pid: 1 } }, 2);
        });
        const query = { after: 1, limit: 100 };
        const events = await store.read.events.list(query);
        const read = await store.read.events.texts(query);
        expect(read.map(({ json }) => JSON.parse(json))).toEqual(events);
        expect(read.map(({ json }) => json)).toEqual(events.map((event) => JSON.stringify(event)));
        const sizes = events.map(({ seq, data }) => ({ seq, bytes: Buffer.byteLength(JSON.stringify(data)) }));
        expect(await store.read.events.sizes(query)).toEqual(sizes);
        expect(read.map(({ seq }) => seq)).toEqual([2, 3, 4]);
      });
    });

    describe("clients", () => {
      const row = { name: "cursor", token_hash: "aa", created_at: 1, last_used_at: null };

      it("have one credential each, until it is removed", async () => {
        await store.transact((tx) => tx.clients.insert(row));
        const again = store.transact((tx) => tx.clients.insert({ ...row, token_hash: "bb" }));
        await expect(again).rejects.toMatchObject({ code: "conflict" });
        await store.transact((tx) => tx.clients.insert({ ...row, name: "a", token_hash: "cc" }));
        await store.transact((tx) => tx.clients.used("cursor", 5));
        expect(await store.read.clients.list()).toEqual([
          { ...row, name: "a", token_hash: "cc" },
          { ...row, last_used_at: 5 },
        ]);
        await store.transact((tx) => tx.clients.remove("a"));
        expect(await store.read.clients.list()).toHaveLength(1);
      });
    });

    describe("what was seen", () => {
      it("never moves back, and is each client's own", async () => {
        const { id } = await addSession(store);
        expect(await store.read.seen.get("web", id)).toBe(0);
        await store.transact((tx) => tx.seen.set("web", id, 7));
        await store.transact((tx) => tx.seen.set("web", id, 5));
        expect(await store.read.seen.get("web", id)).toBe(7);
        await store.transact((tx) => tx.seen.set("web", id, 8));
        expect(await store.read.seen.get("web", id)).toBe(8);
        expect(await store.read.seen.get("cli", id)).toBe(0);
        const missing = store.transact((tx) => tx.seen.set("web", newId("ses", 1), 1));
        await expect(missing).rejects.toMatchObject({ code: "not_found" });
      });
    });

    if (writers === "several") severalWritersSuite(() => under);
    groupStoreSuite(() => store, { addSession, message });
    subagentStoreSuite(() => store, { addSession, message, turnRow });
    usageStoreSuite(() => store, { addSession });
    referenceStoreSuite(() => store);
    queueStoreSuite(() => store, { addSession });
    runStoreSuite(() => store, { addSession });
    scheduleStoreSuite(() => store);

    it("says how it is", async () => {
      const health = await store.health();
      expect(health).toMatchObject({ writable: true, problems: [] });
      expect(health.bytes).toBeGreaterThan(0);
      await store.close();
      expect(await store.health()).toMatchObject({ writable: false });
    });
  });
}
