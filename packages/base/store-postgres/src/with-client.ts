/** One connection for a command that needs no daemon. */

import { silentLogger } from "@aegis/lib/log.ts";
import type { Client } from "pg";
import { Connections } from "./connections.ts";
import { loadDriver } from "./driver.ts";
import { finalError } from "./errors.ts";
import { requireNotifications } from "./server.ts";
import type { Place } from "./url.ts";

/** A connection that ends without a commit leaves nothing. Throws contract errors. */
export async function withClient<T>(
  place: Place,
  work: (client: Client, connections: Connections) => Promise<T>,
): Promise<T> {
  const connections = new Connections(await loadDriver(), place, silentLogger);
  try {
    await requireNotifications(connections);
    const client = await connections.connect("setup", () => {});
    try {
      return await work(client, connections);
    } finally {
      await client.end().catch(() => {});
    }
  } catch (error) {
    throw finalError(error, connections.where);
  } finally {
    await connections.pool.end();
  }
}
