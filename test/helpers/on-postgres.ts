/** Runs suites on one PostgreSQL version, or skips them and says why. */

import { silentLogger } from "@aegis/lib/log.ts";
import type { Store } from "@aegis/store/store.ts";
import { openPostgresStore } from "@aegis/store-postgres/store.ts";
import { afterAll, beforeAll, describe } from "vitest";
import { installations, type PostgresVersion, type Server, startPostgres } from "./postgres.ts";
import { scaled } from "./slowness.ts";

/** Opens the project with this number. */
export type OpenProject = (project: number) => Promise<Store>;

export function onPostgres(version: PostgresVersion, suites: (open: OpenProject, name: string) => void): void {
  const { missing, ...installation } = installations[version];
  const name = `postgres ${version}`;
  describe.skipIf(missing !== null)(missing === null ? name : `${name}: ${missing}`, () => {
    let server: Server;
    beforeAll(async () => {
      // Nothing here crashes the server.
      server = await startPostgres(installation, ["fsync=off"]);
    }, scaled(60_000));
    afterAll(() => server.stop(), scaled(30_000));
    const log = silentLogger;
    suites((project) => openPostgresStore({ url: server.url("postgres"), schema: `p${project}`, log }), name);
  });
}
