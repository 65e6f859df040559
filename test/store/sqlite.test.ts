import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { storeSuite } from "../suites/store-suite.ts";

storeSuite("sqlite", async () => {
  const dir = await mkdtemp(join(tmpdir(), "aegis-store-"));
  const store = await openSqliteStore({ path: join(dir, "aegis.db"), clock: systemClock, log: silentLogger });
  return {
    store,
    async dispose() {
      await store.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
});
