/** Examines the database of a project without a daemon, and changes nothing. */
import type { DatabaseFacts } from "../../contract/api.ts";
import { systemClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/log.ts";
import { Connections } from "./connections.ts";
import { loadDriver } from "./driver.ts";
import { postgresError } from "./errors.ts";
import { readVersion, refuseNewer } from "./schema.ts";
import { readFacts, refuseUnusable, requireNotifications } from "./server.ts";
import type { Place } from "./url.ts";

/** `schema` is 0 if the project is not in the database yet. */
export type Examination = { where: string; schema: number; database: DatabaseFacts };

/** Throws what a start would throw. */
export async function examineDatabase(place: Place): Promise<Examination> {
  const connections = new Connections(await loadDriver(), place, silentLogger);
  try {
    const client = await connections.connect("setup", () => {});
    try {
      const database = await readFacts(client, () => systemClock.now());
      refuseUnusable(database, connections.where);
      await requireNotifications(client, connections);
      const version = await readVersion(client, place.schema);
      refuseNewer(place.schema, version);
      return { where: connections.where, schema: version.version, database };
    } finally {
      await client.end();
    }
  } catch (error) {
    throw postgresError(error, connections.where);
  } finally {
    await connections.pool.end();
  }
}
