// @module-tag slow
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { onPostgres } from "@aegis/test/helpers/on-postgres.ts";
import { engineSuite } from "@aegis/test/suites/engine-suite.ts";
import { engineUnder } from "./engine-under.ts";

onPostgres(18, (open, name) => {
  let projects = 0;
  engineSuite(`embedded on ${name}`, async () => {
    projects += 1;
    return engineUnder(await open(projects), fakeClock(1_000_000), async () => {});
  });
});
