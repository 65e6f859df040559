/** Waits until a run has ended, or cannot go on without a decision. */
import type { RunId } from "../contract/ids.ts";
import type { RunView } from "../contract/run.ts";
import type { Client } from "./client.ts";
import { type WaitOptions, waitUntilOver } from "./wait-over.ts";

/** Over any number of restarts of the daemon. Throws the signal's reason when it aborts; the run goes on. */
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

/** A run whose workflow is not there, as while its plugin is replaced, goes on by itself. */
function isOver({ status, parked }: Pick<RunView, "status" | "parked">): boolean {
  return status === "parked" ? parked?.reason !== "missing" : status !== "running";
}
