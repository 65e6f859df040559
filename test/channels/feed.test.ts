import { join } from "node:path";
import { expect, it } from "vitest";
import { EventFeed } from "../../src/channels/feed.ts";
import { silentLogger } from "../../src/lib/log.ts";
import type { Store } from "../../src/store/store.ts";
import { fakeClock } from "../helpers/fake-clock.ts";
import { tempDir } from "../helpers/temp-dir.ts";
import { waitUntil } from "../helpers/wait-until.ts";
import { openStore } from "../store/open-store.ts";

it("sends nothing about the past, also if the database is away at the first start", async () => {
  const { store } = await openStore(join(await tempDir(), "aegis.db"));
  await started(store, "0.1");
  const transact = store.transact.bind(store);
  let isAway = true;
  store.transact = (unit) => (isAway ? Promise.reject(new Error("away")) : transact(unit));
  const clock = fakeClock(1_000_000);
  const seen: unknown[] = [];
  const feed = new EventFeed({
    ...{ store, clock, log: silentLogger, channel: "test", types: ["daemon.started"], added: () => {} },
    deliveries: async (_tx, event) => {
      seen.push(event.data);
      return [];
    },
  });
  const end = new AbortController();
  const running = feed.begin(end.signal).then(() => feed.run(end.signal));
  await clock.sleepers(1);
  isAway = false;
  await clock.advance(5_000);
  await waitUntil("it has begun", async () => (await store.read.channels.cursor("events:test")) !== null);
  await started(store, "0.2");
  await waitUntil("it passed the next event", () => seen.length > 0);
  end.abort();
  await running;
  expect(seen).toMatchObject([{ version: "0.2" }]);
  await store.close();
});

async function started(store: Store, version: string): Promise<void> {
  await store.transact((tx) =>
    tx.events.append({ type: "daemon.started", session: null, data: { version, pid: 1 } }, 1),
  );
}
