import type { LiveDelta } from "@aegis/contract/event.ts";
import { newId } from "@aegis/contract/ids.ts";
import type { Services } from "@aegis/http/app.ts";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { EventHub, type HubLimits, type StreamItem } from "../src/hub.ts";
import { MemoryEvents, notice, sessionA, sessionB } from "./memory-events.ts";

function setup(limits: Partial<HubLimits> = {}) {
  const store = new MemoryEvents();
  const hub = new EventHub(store, limits);
  const service: Services["events"] = hub;
  const stop = new AbortController();
  return { store, hub, service, stop, signal: stop.signal };
}

async function take(items: AsyncIterator<StreamItem>, count: number): Promise<StreamItem[]> {
  const taken: StreamItem[] = [];
  while (taken.length < count) {
    const { value, done } = await items.next();
    if (done) break;
    taken.push(value);
  }
  return taken;
}

function seqs(items: readonly StreamItem[]): number[] {
  return items.flatMap((item) => (item.kind === "event" ? [item.event.seq] : []));
}

function delta(text: string, session = sessionA): LiveDelta {
  return { type: "text", session, turn: newId("trn", 1), message: "m", offset: 0, text };
}

test("replays what is stored, then gives what is committed", async () => {
  const { store, hub, signal } = setup({ page: 2 });
  for (let i = 0; i < 5; i++) store.commit(notice(`${i}`));
  const items = hub.subscribe({ after: 1, live: false, signal });
  expect(seqs(await take(items, 4))).toEqual([2, 3, 4, 5]);
  const next = take(items, 2);
  store.commit(notice("5"), notice("6"));
  expect(seqs(await next)).toEqual([6, 7]);
});

test("the handover from store to live has no gap and no duplicate, wherever commits fall", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        stored: fc.nat(12),
        after: fc.nat(12),
        page: fc.integer({ min: 1, max: 4 }),
        duringReads: fc.array(fc.nat(4), { maxLength: 8 }),
        betweenTakes: fc.array(fc.nat(2), { maxLength: 20 }),
        onlyA: fc.boolean(),
      }),
      async ({ stored, after, page, duringReads, betweenTakes, onlyA }) => {
        const { store, hub, stop, signal } = setup({ page });
        const commit = (count: number) => {
          for (let i = 0; i < count; i++) store.commit(notice("x", store.all.length % 3 === 0 ? sessionB : sessionA));
        };
        commit(stored);
        const start = Math.min(after, stored);
        const reads = [...duringReads];
        store.beforeRead = () => commit(reads.shift() ?? 0);
        store.afterRead = () => commit(reads.shift() ?? 0);
        const items = hub.subscribe({ after: start, session: onlyA ? sessionA : undefined, live: false, signal });
        const got: StreamItem[] = [];
        const reader = (async () => {
          const gaps = [...betweenTakes];
          for await (const item of items) {
            got.push(item);
            commit(gaps.shift() ?? 0);
          }
        })();
        await new Promise((resolve) => setImmediate(resolve));
        commit(1);
        await new Promise((resolve) => setImmediate(resolve));
        stop.abort();
        await reader;
        const expected = store.all.filter((e) => e.seq > start && (!onlyA || e.session === sessionA)).map((e) => e.seq);
        expect(seqs(got)).toEqual(expected);
      },
    ),
    { numRuns: 300 },
  );
});

test("a commit that is announced after it was read is not given twice", async () => {
  const { store, hub, signal } = setup();
  const announce = store.commitQuietly(notice("1"));
  const items = hub.subscribe({ after: 0, live: false, signal });
  expect(seqs(await take(items, 1))).toEqual([1]);
  announce();
  store.commit(notice("2"));
  expect(seqs(await take(items, 1))).toEqual([2]);
});

test("a long replay does not fill the queue", async () => {
  const { store, hub, signal } = setup({ items: 3, page: 2 });
  for (let i = 0; i < 10; i++) store.commit(notice("stored"));
  const items = hub.subscribe({ after: 0, live: false, signal });
  const got: StreamItem[] = [];
  for (let i = 0; i < 8; i++) {
    got.push(...(await take(items, 1)));
    store.commit(notice("meanwhile"));
  }
  got.push(...(await take(items, 10)));
  const live = take(items, 1);
  await new Promise((resolve) => setImmediate(resolve));
  store.commit(notice("live"));
  got.push(...(await live));
  expect(seqs(got)).toEqual(store.all.map((event) => event.seq));
});

test("a subscriber that does not read continues from the log, and no other one notices", async () => {
  const { store, hub, signal } = setup({ items: 4, page: 2 });
  const slow = hub.subscribe({ after: 0, live: false, signal });
  const quick = hub.subscribe({ after: 0, live: false, signal });
  const first = [take(slow, 1), take(quick, 1)] as const;
  await Promise.resolve();
  store.commit(notice("1"));
  expect(seqs(await first[0])).toEqual([1]);
  await first[1];
  const quickSeqs: number[] = [];
  for (let i = 2; i <= 6; i++) {
    const got = take(quick, 1);
    store.commit(notice(`${i}`));
    quickSeqs.push(...seqs(await got));
  }
  expect(quickSeqs).toEqual([2, 3, 4, 5, 6]);
  const later = take(slow, 6);
  await new Promise((resolve) => setImmediate(resolve));
  store.commit(notice("7"));
  expect(seqs(await later)).toEqual([2, 3, 4, 5, 6, 7]);
});

test("the bound counts bytes too, yet a single larger event arrives", async () => {
  const { store, hub, signal } = setup({ bytes: 1_000 });
  const items = hub.subscribe({ after: 0, live: false, signal });
  const first = take(items, 1);
  store.commit(notice("x".repeat(5_000)));
  expect(await first).toHaveLength(1);
  store.commit(notice("y".repeat(5_000)));
  expect(await take(items, 1)).toHaveLength(1);
  store.commit(notice("a".repeat(600)), notice("b".repeat(600)));
  const reads = store.reads;
  expect(seqs(await take(items, 2))).toEqual([3, 4]);
  expect(store.reads).toBeGreaterThan(reads);
});

test("a page is bounded by bytes, and a single larger event is a page of its own", async () => {
  const { store, hub, signal } = setup({ pageBytes: 1_000 });
  for (const length of [400, 400, 400, 5_000, 400]) store.commit(notice("x".repeat(length)));
  const texts = vi.spyOn(store.read.events, "texts");
  const items = hub.subscribe({ after: 0, live: false, signal });
  expect(seqs(await take(items, 5))).toEqual([1, 2, 3, 4, 5]);
  expect(texts.mock.calls.map(([{ limit }]) => limit)).toEqual([2, 1, 1, 1]);
});

test("those who wait at a large event share one text", async () => {
  const { store, hub, signal } = setup({ pageBytes: 1_000 });
  store.commit(notice("x".repeat(5_000)));
  const all = Array.from({ length: 50 }, () => hub.subscribe({ after: 0, live: false, signal }));
  const texts = vi.spyOn(store.read.events, "texts");
  const first = (await Promise.all(all.map((items) => take(items, 1)))).flat();
  expect(new Set(first).size).toBe(1);
  expect(texts).toHaveBeenCalledTimes(1);
});

test("between the pages of those who catch up, other work has its turn", async () => {
  const { store, hub, signal } = setup({ page: 2 });
  for (let i = 0; i < 200; i++) store.commit(notice(`${i}`));
  // Each read takes longer than a slice.
  store.beforeRead = () => {
    for (const until = performance.now() + 9; performance.now() < until; );
  };
  let inBetween = 0;
  const stop = new AbortController();
  const work = (async () => {
    for (; !stop.signal.aborted; inBetween++) await new Promise((resolve) => setImmediate(resolve));
  })();
  const reads = store.reads;
  const all = Array.from({ length: 5 }, () => hub.subscribe({ after: 0, live: false, signal }));
  await Promise.all(all.map((items) => take(items, 10)));
  stop.abort();
  await work;
  // Two reads make one page.
  expect(inBetween).toBeGreaterThanOrEqual((store.reads - reads) / 2 - 1);
});

test("deltas reach those who watch, and give way to events", async () => {
  const { store, hub, signal } = setup({ items: 4 });
  const watching = hub.subscribe({ after: 0, live: true, signal });
  const other = hub.subscribe({ after: 0, live: true, session: sessionB, signal });
  const plain = hub.subscribe({ after: 0, live: false, signal });
  const firsts = [watching, other, plain].map((items) => take(items, 1));
  store.commit(notice("b", sessionB));
  await Promise.all(firsts);

  for (const text of ["one", "two", "three", "four"]) hub.publishDelta(delta(text));
  store.commit(notice("2"), notice("3"), notice("4"), notice("5"));
  // Half a queue of deltas was kept, then given up for the fourth event.
  expect((await take(watching, 4)).map((item) => item.kind)).toEqual(["event", "event", "event", "event"]);
  expect(seqs(await take(plain, 4))).toEqual([2, 3, 4, 5]);

  const seen = take(watching, 1);
  hub.publishDelta(delta("five"));
  expect(await seen).toMatchObject([{ kind: "delta", delta: { text: "five" } }]);

  const last = take(other, 1);
  store.commit(notice("b again", sessionB));
  expect(seqs(await last)).toEqual([6]);
});

test("a hundred subscribers share one serialised form", async () => {
  const { store, hub, signal } = setup();
  const all = Array.from({ length: 100 }, () => hub.subscribe({ after: 0, live: false, signal }));
  const first = Promise.all(all.map((items) => take(items, 1)));
  await new Promise((resolve) => setImmediate(resolve));
  const stringify = vi.spyOn(JSON, "stringify");
  store.commit(notice("shared"));
  const items = (await first).flat();
  expect(stringify).toHaveBeenCalledTimes(1);
  stringify.mockRestore();
  expect(items).toHaveLength(100);
  expect(new Set(items).size).toBe(1);
});

test("nothing is read or listened to without subscribers", async () => {
  const { store, hub, stop, signal } = setup();
  store.commit(notice("1"));
  hub.publishDelta(delta("x"));
  expect([store.reads, store.listeners.size]).toEqual([0, 0]);

  const items = hub.subscribe({ after: 1, live: false, signal });
  const ended = items.next();
  await new Promise((resolve) => setImmediate(resolve));
  expect(store.listeners.size).toBe(1);
  stop.abort();
  expect(await ended).toEqual({ done: true, value: undefined });
  expect(store.listeners.size).toBe(0);
});

test("a failing read ends the subscription with its error and frees it", async () => {
  const { store, hub, signal } = setup();
  store.afterRead = () => {
    throw new Error("disk gone");
  };
  await expect(hub.subscribe({ after: 0, live: false, signal }).next()).rejects.toThrow("disk gone");
  expect(store.listeners.size).toBe(0);
});

test("history pages back and says whether there is more", async () => {
  const { store, service } = setup();
  for (let i = 0; i < 5; i++) store.commit(notice(`${i}`));
  const newest = await service.history(sessionA, { limit: 2 });
  expect([newest.events.map((e) => e.seq), newest.more]).toEqual([[4, 5], true]);
  const oldest = await service.history(sessionA, { before: 4, limit: 3 });
  expect([oldest.events.map((e) => e.seq), oldest.more]).toEqual([[1, 2, 3], false]);
});
