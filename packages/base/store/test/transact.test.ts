import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import type { NewEvent } from "@aegis/contract/event.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import type { Store } from "../src/store.ts";
import { createTransact } from "../src/transact.ts";
import { openStore } from "./open-store.ts";

describe("a write that must not be lost", () => {
  const write = (store: Store, signal = new AbortController().signal) => {
    const clock = fakeClock(0);
    const transact = createTransact({ store, clock, log: silentLogger, signal });
    return { clock, done: transact((tx) => tx.events.append(event, 1)) };
  };
  const event: NewEvent = { type: "config.rejected", session: null, data: { problems: [] } };

  it("waits for a full disk", async () => {
    const { store } = await openStore(join(await tempDir(), "aegis.db"));
    let isFull = true;
    const full: Store = {
      ...store,
      transact: (unit) =>
        isFull ? Promise.reject(new AegisError("storage_full", "the disk is full")) : store.transact(unit),
    };
    const { clock, done } = write(full);
    await clock.sleepers(1);
    isFull = false;
    await clock.advance(60_000);
    expect((await done).seq).toBe(1);
    await store.close();
  });

  it("is refused at once by a store that is closed, and not repeated forever", async () => {
    const { store } = await openStore(join(await tempDir(), "aegis.db"));
    await store.close();
    await expect(write(store).done).rejects.toThrow("the store is closed");
  });
});
