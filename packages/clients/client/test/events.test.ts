import { newId } from "@aegis/contract/ids.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { notice, sessionA } from "../../../base/events/test/memory-events.ts";
import { start, token } from "../../../daemon/http/test/start.ts";
import { createClient } from "../src/client.ts";
import { type FollowedItem, type FollowOptions, followEvents } from "../src/events.ts";

const atOnce = async () => {};

/** A fetch whose n-th answer breaks after so many bytes, which still arrive; later ones do not break. */
function breakingFetch(cuts: readonly number[], onBreak = () => {}): typeof fetch {
  let connection = 0;
  return async (input, init) => {
    let left = cuts[connection++] ?? Number.POSITIVE_INFINITY;
    const response = await fetch(input, init);
    const reader = response.body?.getReader();
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          if (left <= 0) {
            onBreak();
            await reader?.cancel();
            return controller.error(new TypeError("connection lost"));
          }
          const { value } = (await reader?.read()) ?? {};
          if (value === undefined) return controller.close();
          controller.enqueue(value.subarray(0, left));
          left -= value.length;
        },
        cancel: () => reader?.cancel(),
      },
      { highWaterMark: 0 },
    );
    return new Response(body, response);
  };
}

async function collect(items: AsyncIterable<FollowedItem>, count: number): Promise<number[]> {
  const seqs: number[] = [];
  for await (const item of items) {
    if (item.kind === "event") seqs.push(item.event.seq);
    if (seqs.length === count) break;
  }
  return seqs;
}

test("however connections break, each event comes once and in order", async () => {
  const { server, services } = await start({ hub: { page: 3 } });
  const before = 10;
  for (let i = 0; i < before; i++) services.store.commit(notice(`é🚀 ${i}`));
  let breaks = 0;
  await fc.assert(
    fc.asyncProperty(
      // The first connection lasts long enough to be one.
      fc.integer({ min: 12, max: 900 }),
      fc.array(fc.nat(900), { maxLength: 8 }),
      fc.nat(before),
      fc.boolean(),
      async (firstCut, cuts, behind, fromNow) => {
        const head = services.store.all.length;
        const after = head - behind;
        const client = createClient({
          url: server.url,
          token,
          fetch: breakingFetch([firstCut, ...cuts], () => breaks++),
        });
        const start = fromNow ? head : after;
        const stop = new AbortController();
        const items = followEvents(client, {
          ...(fromNow ? {} : { after }),
          signal: stop.signal,
          sleep: async () => {
            services.store.commit(notice("while it was away"));
          },
        });
        const iterator = items[Symbol.asyncIterator]();
        const first = iterator.next();
        if (fromNow) await waitUntil("it follows", () => services.store.listeners.size === 1);
        services.store.commit(notice("live"), notice("live"));
        const got = [await first];
        while (got.length < services.store.all.length - start) got.push(await iterator.next());
        stop.abort();
        expect((await iterator.next()).done).toBe(true);
        await waitUntil("it is gone", () => services.store.listeners.size === 0);
        const seqs = got.map(({ value }) => (value?.kind === "event" ? value.event.seq : null));
        expect(seqs).toEqual(services.store.all.slice(start).map((event) => event.seq));
      },
    ),
    { numRuns: 40 },
  );
  expect(breaks).toBeGreaterThan(40);
});

test("a connection that broke before its first event resumes where it began", async () => {
  const { server, services } = await start();
  services.store.commit(notice("old"));
  const client = createClient({ url: server.url, token, fetch: breakingFetch([12]) });
  const sleep = async () => services.store.commit(notice("missed"));
  // The start is ten bytes long: the event after it is cut.
  const items = collect(followEvents(client, { sleep }), 2);
  await waitUntil("it follows", () => services.store.listeners.size === 1);
  services.store.commit(notice("cut"));
  expect(await items).toEqual([2, 3]);
});

test("deltas come to those who ask", async () => {
  const { server, services } = await start();
  const client = createClient({ url: server.url, token });
  const items = followEvents(client, { live: true, session: sessionA });
  const next = items.next();
  await waitUntil("it follows", () => services.store.listeners.size === 1);
  const delta = {
    type: "text",
    session: sessionA,
    turn: newId("trn", 1),
    message: "m",
    offset: 0,
    text: "hel",
  } as const;
  services.hub.publishDelta(delta);
  expect((await next).value).toEqual({ kind: "delta", delta });
  await items.return();
  await waitUntil("the subscription is freed", () => services.store.listeners.size === 0);
});

test("a refusal and a daemon that was never there are thrown at once", async () => {
  const { server } = await start();
  const options: FollowOptions = { sleep: () => Promise.reject(new Error("must not wait")) };
  const stranger = createClient({ url: server.url, token: "wrong" });
  await expect(followEvents(stranger, options).next()).rejects.toMatchObject({ code: "unauthorized" });
  const beyond = followEvents(createClient({ url: server.url, token }), { ...options, after: 9 });
  await expect(beyond.next()).rejects.toMatchObject({ code: "conflict" });
  await server.close();
  const late = followEvents(createClient({ url: server.url, token }), options);
  await expect(late.next()).rejects.toMatchObject({ code: "unavailable" });
});

test("a first connection that fails is tried again if the daemon was reached before", async () => {
  const { server, services } = await start();
  services.store.commit(notice("1"));
  const attempts: number[] = [];
  let refused = 0;
  const restarting: typeof fetch = (input, init) => {
    refused += 1;
    return refused < 3 ? Promise.reject(new TypeError("fetch failed")) : fetch(input, init);
  };
  const items = followEvents(createClient({ url: server.url, token, fetch: restarting }), {
    after: 0,
    sleep: atOnce,
    reached: true,
    onReconnect: (attempt) => attempts.push(attempt),
  });
  expect(await collect(items, 1)).toEqual([1]);
  expect(attempts).toEqual([1, 2]);
});

test("a daemon that stays away is given up", async () => {
  const { server, services } = await start();
  services.store.commit(notice("1"));
  const attempts: number[] = [];
  const items = followEvents(createClient({ url: server.url, token }), {
    after: 0,
    sleep: atOnce,
    onReconnect: (attempt) => attempts.push(attempt),
  });
  expect((await items.next()).value).toMatchObject({ kind: "event" });
  await server.close();
  await expect(items.next()).rejects.toMatchObject({ code: "unavailable" });
  expect(attempts.length).toBeGreaterThan(10);
});

test("a daemon that fails on every connection is given up", async () => {
  const { server, services } = await start();
  services.store.afterRead = () => {
    throw new Error("broken");
  };
  const items = followEvents(createClient({ url: server.url, token }), { after: 0, sleep: atOnce });
  await expect(items.next()).rejects.toMatchObject({ code: "unavailable" });
});

test("a reader that was dropped for being slow goes on where it was", { tags: "slow" }, async () => {
  const { server, services } = await start({ limits: { stallMs: 50 } });
  const client = createClient({ url: server.url, token });
  let reconnects = 0;
  const items = followEvents(client, { after: 0, live: true, sleep: atOnce, onReconnect: () => reconnects++ });
  const first = items.next();
  await waitUntil("it follows", () => services.store.listeners.size === 1);
  for (let i = 0; i < 40; i++) services.store.commit(notice("x".repeat(512 * 1024)));
  await first;
  await waitUntil("it was dropped", () => services.hub.watched === "nothing");
  expect(await collect(items, 39)).toEqual(Array.from({ length: 39 }, (_, i) => i + 2));
  expect(reconnects).toBeGreaterThan(0);
});

test("a silent connection is replaced", async () => {
  const { server, services } = await start();
  const silent: typeof fetch = async (_input, init) => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode("id: 0\n\n"));
        init?.signal?.addEventListener("abort", () => controller.error(init.signal?.reason));
      },
    });
    return new Response(body);
  };
  let first = true;
  const client = createClient({
    url: server.url,
    token,
    fetch: (input, init) => {
      const use = first ? silent : fetch;
      first = false;
      return use(input, init);
    },
  });
  services.store.commit(notice("1"));
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  expect(await collect(followEvents(client, { silenceMs: 20, sleep: atOnce, signal: stop.signal }), 1)).toEqual([1]);
});

test("aborting ends it, while connecting, following or waiting to reconnect", async () => {
  const { server, services } = await start();
  const client = createClient({ url: server.url, token });
  const stop = new AbortController();
  const connecting = followEvents(client, { signal: stop.signal }).next();
  stop.abort();
  expect((await connecting).done).toBe(true);
  expect((await followEvents(client, { signal: stop.signal }).next()).done).toBe(true);
  await waitUntil("it is gone", () => services.store.listeners.size === 0);
  const again = new AbortController();
  const waiting = followEvents(client, { signal: again.signal, onReconnect: () => again.abort() }).next();
  await waitUntil("it follows", () => services.store.listeners.size === 1);
  await server.close();
  expect((await waiting).done).toBe(true);
});
