import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { silentLogger } from "@aegis/lib/log.ts";
import { openSqliteStore } from "@aegis/store-sqlite/store.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { testFolder } from "@aegis/test/helpers/test-folder.ts";
import { engineSuite } from "@aegis/test/suites/engine-suite.ts";
import { engineUnder } from "./engine-under.ts";

engineSuite("embedded", async () => {
  const dir = await mkdtemp(join(testFolder(), "aegis-engine-"));
  const clock = fakeClock(1_000_000);
  const sqlite = await openSqliteStore({ path: join(dir, "aegis.db"), clock, log: silentLogger });
  return engineUnder(sqlite, clock, () => rm(dir, { recursive: true, force: true }));
});
