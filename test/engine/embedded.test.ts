import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedEngine } from "../../src/engine/embedded/engine.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { fakeClock } from "../helpers/fake-clock.ts";
import { engineSuite } from "../suites/engine-suite.ts";
import { type MortalStore, mortalStore } from "./mortal-store.ts";

const hooks = { onEnd: async () => "none" as const, afterEnd: async () => {} };
const leaseMs = 30_000;

engineSuite("embedded", async () => {
  const dir = await mkdtemp(join(tmpdir(), "aegis-engine-"));
  const clock = fakeClock(1_000_000);
  const sqlite = await openSqliteStore({ path: join(dir, "aegis.db"), clock, log: silentLogger });
  const stores: MortalStore[] = [];
  const make = (exclusive: boolean) => {
    const store = mortalStore(sqlite);
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
      const events = await sqlite.read.events.list({ types: ["run.log"], limit: 10_000 });
      return events.flatMap((event) => (event.type === "run.log" ? [event.data.text] : []));
    },
    async dispose() {
      for (const store of stores) store.die();
      await sqlite.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
});
