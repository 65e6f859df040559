/** Waits until a firing is over. */
import type { FiringId } from "../contract/ids.ts";
import type { Firing } from "../contract/schedule.ts";
import type { Client } from "./client.ts";
import { type WaitOptions, waitUntilOver } from "./wait-over.ts";

/** Over any number of restarts of the daemon. Throws the signal's reason when it aborts; the firing goes on. */
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
