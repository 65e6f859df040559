/** Reads the open sessions of a project from its database, without a daemon. Changes nothing. */
import type { OpenSession } from "@aegis/store/store.ts";
import { readVersion, refuseNewer } from "./schema.ts";
import type { Place } from "./url.ts";
import { withClient } from "./with-client.ts";

/** Empty if the project is not in the database yet. */
export function openSessionsIn(place: Place): Promise<OpenSession[]> {
  return withClient(place, async (client) => {
    const version = await readVersion(client, place.schema);
    if (version.version === 0) return [];
    refuseNewer(place.schema, version);
    const text = "SELECT handle, agent, harness FROM sessions WHERE closed_at IS NULL ORDER BY created_at, id";
    return (await client.query<OpenSession>(text)).rows;
  });
}
