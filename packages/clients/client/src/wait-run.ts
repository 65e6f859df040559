/** Waits until a run has ended or needs a decision. */
import type { RunId } from "@aegis/contract/ids.ts";
import type { RunView } from "@aegis/contract/run.ts";
import type { Client } from "./client.ts";
import { type WaitOptions, waitUntilOver } from "./wait-over.ts";

/**
 * Waits until a run has ended, or is parked because it needs a decision, across restarts of the daemon. Throws the
 * signal's reason when the signal aborts; the run itself continues.
 *
 * @example
 * ```ts
 * import { connect, wait } from "aegis/client";
 *
 * const client = await connect();
 * const { run } = await client.call("startRun", { path: { workflow: "tdd_cycle" }, body: { args: { task: "add()" } } });
 * const ended = await wait.run(client, run.id);
 * ```
 */
export function waitForRun(client: Client, id: RunId, options: WaitOptions = {}): Promise<RunView> {
  const { signal } = options;
  return waitUntilOver(
    client,
    {
      read: async () => (await client.call("getRun", { path: { run: id }, signal })).run,
      isOver,
      concerns: ({ type, data }) => (type === "run.ended" || type === "run.parked") && data.run === id,
    },
    options,
  );
}

/** A run whose workflow is missing, for example while its plugin is replaced, resumes by itself. */
function isOver({ status, parked }: Pick<RunView, "status" | "parked">): boolean {
  return status === "parked" ? parked?.reason !== "missing" : status !== "running";
}
