import { join } from "node:path";
import { silentLogger } from "@aegis/lib/log.ts";
import type { Store } from "@aegis/store/store.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";
import { openStore } from "../../../base/store/test/open-store.ts";
import { EventFeed } from "../src/feed.ts";

it("sends nothing about the past, also if the database is away at the first start", async () => {
  const { store } = await openStore(join(await tempDir(), "aegis.db"));
  await started(store, "0.1");
  const transact = store.transact.bind(store);
  let isAway = true;
  store.transact = (unit) => (isAway ? Promise.reject(new Error("away")) : transact(unit));
  const clock = fakeClock(1_000_000);
  const seen: unknown[] = [];
  const feed = new EventFeed({
    store,
    clock,
    log: silentLogger,
    channel: "test",
    types: ["daemon.started"],
    added: () => {},
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
