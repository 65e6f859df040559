/** The embedded engine on any store, as the engine suite wants it. */

import { silentLogger } from "@aegis/lib/log.ts";
import type { Store } from "@aegis/store/store.ts";
import type { FakeClock } from "@aegis/test/helpers/fake-clock.ts";
import type { EngineUnderTest } from "@aegis/test/suites/engine-suite.ts";
import { EmbeddedEngine } from "../src/embedded/engine.ts";
import { type MortalStore, mortalStore } from "./mortal-store.ts";

const hooks = { onGivenUp: async () => {}, onEnd: async () => "none" as const, afterEnd: async () => {} };
const leaseMs = 30_000;

export function engineUnder(inner: Store, clock: FakeClock, dispose: () => Promise<void>): EngineUnderTest {
  const stores: MortalStore[] = [];
  const make = (exclusive: boolean) => {
    const store = mortalStore(inner);
    stores.push(store);
    return new EmbeddedEngine({ store, clock, log: silentLogger, hooks, exclusive, leaseMs });
  };
  /** Executors beside the one under test outlive it. */
  const spared = new Set<number>();
  return {
    engine: make(true),
    clock,
    leaseMs,
    async crash() {
      for (const store of stores.filter((_, index) => !spared.has(index))) store.die();
      return make(true);
    },
    async another() {
      spared.add(stores.length);
      return make(false);
    },
    async lines() {
      const events = await inner.read.events.list({ types: ["run.log"], limit: 10_000 });
      return events.flatMap((event) => (event.type === "run.log" ? [event.data.text] : []));
    },
    async dispose() {
      for (const store of stores) store.die();
      await inner.close();
      await dispose();
    },
  };
}
