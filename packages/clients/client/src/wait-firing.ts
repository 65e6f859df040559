/** Waits until a firing has ended. */
import type { FiringId } from "@aegis/contract/ids.ts";
import type { Firing } from "@aegis/contract/schedule.ts";
import type { Client } from "./client.ts";
import { type WaitOptions, waitUntilOver } from "./wait-over.ts";

/**
 * Waits until a firing of a schedule has ended, across restarts of the daemon. Throws the signal's reason when the
 * signal aborts; the firing itself continues.
 *
 * @example
 * ```ts
 * import { connect, wait } from "aegis/client";
 *
 * const client = await connect();
 * const { firing } = await client.call("runSchedule", { path: { schedule: "nightly" }, body: {} });
 * const ended = await wait.firing(client, firing.id);
 * process.stdout.write(`${ended.status}\n`);
 * ```
 */
export function waitForFiring(client: Client, id: FiringId, options: WaitOptions = {}): Promise<Firing> {
  const { signal } = options;
  return waitUntilOver(
    client,
    {
      read: async () => (await client.call("getFiring", { path: { firing: id }, signal })).firing,
      isOver: (firing) => firing.ended_at !== null,
      concerns: ({ type, data }) =>
        (type === "schedule.ended" && data.firing === id) || (type === "schedule.skipped" && data.firing.id === id),
    },
    options,
  );
}
