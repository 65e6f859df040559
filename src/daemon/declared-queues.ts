/** The queues of a configuration, as the runtime uses them. */
import type { QueueSettings } from "../contract/task.ts";
import type { Config } from "./config/config.ts";

export function declaredQueues(config: Pick<Config, "queues">): Record<string, QueueSettings> {
  return Object.fromEntries(
    Object.entries(config.queues).map(([name, entry]) => [name, { ...entry, timeout: entry.timeout ?? null }]),
  );
}
