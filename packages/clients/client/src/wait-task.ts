/** Waits until a task has ended. */
import type { TaskId } from "@aegis/contract/ids.ts";
import type { TaskView } from "@aegis/contract/task.ts";
import type { Client } from "./client.ts";
import { type WaitOptions, waitUntilOver } from "./wait-over.ts";

/**
 * Waits until a task has ended, across restarts of the daemon. Throws the signal's reason when the signal aborts; the
 * task itself continues.
 *
 * @example
 * ```ts
 * import { connect, wait } from "aegis/client";
 *
 * const client = await connect();
 * const { task } = await client.call("enqueueTask", { path: { queue: "reviews" }, body: { payload: "README.md" } });
 * const ended = await wait.task(client, task.id);
 * process.stdout.write(`${ended.status}: ${ended.result}\n`);
 * ```
 */
export function waitForTask(client: Client, id: TaskId, options: WaitOptions = {}): Promise<TaskView> {
  const { signal } = options;
  return waitUntilOver(
    client,
    {
      read: async () => (await client.call("getTask", { path: { task: id }, signal })).task,
      // The task may have been requeued meanwhile.
      isOver,
      concerns: (event) => event.type === "task.ended" && event.data.task === id,
    },
    options,
  );
}

export function isOver(task: Pick<TaskView, "status">): boolean {
  return task.status !== "pending" && task.status !== "dispatched";
}
