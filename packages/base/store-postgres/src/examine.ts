/** Examines the database of a project without a daemon, and changes nothing. */
import type { DatabaseFacts } from "@aegis/contract/api.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { readVersion, refuseNewer } from "./schema.ts";
import { readFacts, refuseUnusable, requireConnections } from "./server.ts";
import type { Place } from "./url.ts";
import { withClient } from "./with-client.ts";

/** `schema` is 0 if the project is not in the database yet. */
export type Examination = { where: string; schema: number; database: DatabaseFacts };

/** Throws what a start would throw. */
export function examineDatabase(place: Place): Promise<Examination> {
  return withClient(place, async (client, connections) => {
    const database = await readFacts(client, () => systemClock.now());
    refuseUnusable(database, connections.where);
    await requireConnections(client, connections.where);
    const version = await readVersion(client, place.schema);
    refuseNewer(place.schema, version);
    return { where: connections.where, schema: version.version, database };
  });
}
