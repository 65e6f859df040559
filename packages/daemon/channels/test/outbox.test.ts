import { join } from "node:path";
import { silentLogger } from "@aegis/lib/log.ts";
import type { Store } from "@aegis/store/store.ts";
import { type FakeClock, fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";
import { openStore } from "../../../base/store/test/open-store.ts";
import { ChannelFault } from "../src/fault.ts";
import { ChannelHealth } from "../src/health.ts";
import { type Deliver, Outbox, type OutboxOptions } from "../src/outbox.ts";

type Setup = { store: Store; clock: FakeClock; outbox: Outbox; health: ChannelHealth; stop: () => Promise<void> };

async function setup(deliver: Deliver, more: Partial<OutboxOptions> = {}): Promise<Setup> {
  const { store } = await openStore(join(await tempDir(), "aegis.db"));
  const clock = fakeClock(1_000_000);
  const health = new ChannelHealth({ clock, log: silentLogger, channel: "test" });
  const outbox = new Outbox({
    store,
    clock,
    log: silentLogger,
    channel: "test",
    health,
    deliver,
    okDetail: () => "works",
    fix: "fix it",
    ...more,
  });
  const end = new AbortController();
  const running = outbox.run(end.signal);
  const stop = async () => {
    end.abort();
    await running;
    await store.close();
  };
  return { store, clock, outbox, health, stop };
}

async function add({ store, outbox }: Setup, ...keys: string[]): Promise<void> {
  await store.transact(async (tx) => {
    for (const key of keys) {
      const [place = ""] = key.split("-");
      const row = { channel: "test", key, place, session: null, ask: null, kind: "text" as const, body: {} };
      await tx.channels.addOut({ ...row, created_at: 1 });
    }
  });
  outbox.wake();
}

const waiting = async ({ store }: Setup) => (await store.read.channels.outCounts("test")).waiting;

describe("the outbox", () => {
  it.each(["gone", "unauthorized", "unreachable", "rate_limited"] as const)(
    "shows a failure (%s) not before it is stored",
    async (kind) => {
      const test = await setup(async () => {
        throw new ChannelFault(kind, "no more");
      });
      const { health, store } = test;
      const stored = Promise.withResolvers<void>();
      const shown: string[] = [];
      const transact = store.transact.bind(store);
      let units = 0;
      store.transact = async (unit) => {
        const result = await transact(unit);
        units += 1;
        shown.push(health.state);
        // The row is added, marked and then ended.
        if (units === 3) stored.resolve();
        return result;
      };
      await add(test, "a-1");
      await stored.promise;
      expect(shown).toEqual(["starting", "starting", "starting"]);
      await waitUntil("it is shown", () => health.state !== "starting");
      await test.stop();
    },
  );

  it("keeps everything and its order while the network is down for an hour, without a busy loop", async () => {
    let isDown = true;
    let attempts = 0;
    const sent: string[] = [];
    const test = await setup(async ({ key }) => {
      attempts += 1;
      if (isDown) throw new ChannelFault("unreachable", "no network");
      sent.push(key);
      return key;
    });
    await add(test, "a-1", "a-2", "b-1");
    await waitUntil("it failed", () => attempts >= 2);
    for (let minute = 0; minute < 60; minute++) {
      await test.clock.sleepers(1);
      await test.clock.advance(60_000);
    }
    // At most one attempt a minute for each of the two places, after the first quick ones.
    expect(attempts).toBeLessThan(150);
    expect(test.health.view()).toMatchObject({ state: "unreachable", detail: "no network" });
    expect(await waiting(test)).toBe(3);
    isDown = false;
    await waitUntil("all is sent", async () => {
      if (test.clock.sleeping > 0) await test.clock.advance(60_000);
      return (await waiting(test)) === 0;
    });
    expect(sent.filter((key) => key.startsWith("a"))).toEqual(["a-1", "a-2"]);
    expect(sent.toSorted()).toEqual(["a-1", "a-2", "b-1"]);
    expect(test.health.view().state).toBe("ok");
    await test.stop();
  });

  it("waits exactly as long as the service says", async () => {
    const times: number[] = [];
    const test = await setup(async () => {
      times.push(test.clock.now());
      if (times.length === 1) throw new ChannelFault("rate_limited", "retry after 7", { afterMs: 7_000 });
      return null;
    });
    await add(test, "a-1");
    await test.clock.sleepers(1);
    expect(test.health.view().state).toBe("rate_limited");
    await test.clock.advance(6_999);
    expect(times).toHaveLength(1);
    await test.clock.advance(1);
    await waitUntil("it was sent", async () => (await waiting(test)) === 0);
    expect(times).toEqual([1_000_000, 1_007_000]);
    await test.stop();
  });

  it("counts the pace per chat: threads share it, other chats do not wait", async () => {
    const sent: [string, number][] = [];
    const test = await setup(
      async ({ key }) => {
        sent.push([key, test.clock.now() - 1_000_000]);
        return null;
      },
      { paceMs: () => 1_000, chatOf: (place) => place.split("/", 1)[0] ?? place },
    );
    await add(test, "a/1-1", "a/2-1", "b-1", "a/1-2");
    await waitUntil("it was sent", () => sent.length === 2);
    await test.clock.sleepers(1);
    // A message that is no delivery waits for the pace of the chat as well, and for what is due in it.
    expect(await test.outbox.claim("a/3")).toBe(false);
    await waitUntil("all is sent", async () => {
      if (test.clock.sleeping > 0) await test.clock.advance(1_000);
      return (await waiting(test)) === 0;
    });
    expect(sent).toEqual([
      ["a/1-1", 0],
      ["b-1", 0],
      ["a/2-1", 1_000],
      ["a/1-2", 2_000],
    ]);
    await test.stop();
  });

  it("says that a delivery may be repeated only if it may have arrived", async () => {
    const repeated: boolean[] = [];
    const faults = [
      new ChannelFault("unreachable", "refused"),
      new ChannelFault("unreachable", "cut", { mayHaveArrived: true }),
    ];
    const test = await setup(async (_row, how) => {
      repeated.push(how.repeated);
      const fault = faults.shift();
      if (fault !== undefined) throw fault;
      return null;
    });
    await add(test, "a-1");
    await waitUntil("it was sent", async () => {
      if (test.clock.sleeping > 0) await test.clock.advance(60_000);
      return (await waiting(test)) === 0;
    });
    expect(repeated).toEqual([false, false, true]);
    await test.stop();
  });

  it("gives up what can never be sent, and stops for a rejected token until someone tries again", async () => {
    const faults = [new ChannelFault("rejected", "too long"), new ChannelFault("unauthorized", "bad token")];
    const test = await setup(async () => {
      const fault = faults.shift();
      if (fault !== undefined) throw fault;
      return null;
    });
    await add(test, "a-1", "a-2");
    await waitUntil("it stopped", () => test.health.view().state === "unauthorized");
    expect(await test.store.read.channels.outCounts("test")).toEqual({ waiting: 1, failed: 1 });
    expect(test.health.view().fix).toBe("fix it");
    await test.outbox.hurry();
    await waitUntil("it was sent", async () => (await waiting(test)) === 0);
    await test.stop();
  });
});
