/** Whether the daemon of a project runs, for commands that outlive it and start it again. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@aegis/client/client.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import { type DaemonFileState, inspectDaemonFile } from "@aegis/lib/daemon-file.ts";

const longestWaitMs = 5_000;

/**
 * Like `inspectDaemonFile`, but a daemon is `live` only if it answers. A killed daemon refuses connections shortly
 * before its process is gone; this function waits until the process has ended.
 */
export async function stateOfDaemon(root: string, home: string, client: Client): Promise<DaemonFileState["state"]> {
  for (let waitMs = 10; ; waitMs *= 2) {
    const { state } = await inspectDaemonFile(root, home);
    if (state !== "live" || waitMs > longestWaitMs || (await answers(client))) return state;
    await sleep(waitMs);
  }
}

function answers(client: Client): Promise<boolean> {
  return client.call("health").then(
    () => true,
    (error: unknown) => !isAegisError(error) || error.code !== "unavailable",
  );
}
