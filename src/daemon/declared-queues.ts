/** Converts the queues of a configuration to the form that the runtime uses. */
import type { QueueSettings } from "../contract/task.ts";
import type { Config } from "../project/config/config.ts";

export function declaredQueues(config: Pick<Config, "queues">): Record<string, QueueSettings> {
  return Object.fromEntries(
    Object.entries(config.queues).map(([name, entry]) => [name, { ...entry, timeout: entry.timeout ?? null }]),
  );
}
