/** Waits until a task has ended. */
import type { TaskId } from "../contract/ids.ts";
import type { TaskView } from "../contract/task.ts";
import type { Client } from "./client.ts";
import { type WaitOptions, waitUntilOver } from "./wait-over.ts";

/** Over any number of restarts of the daemon. Throws the signal's reason when it aborts; the task goes on. */
export function waitForTask(client: Client, id: TaskId, options: WaitOptions = {}): Promise<TaskView> {
  const { signal } = options;
  return waitUntilOver(
    client,
    {
      read: async () => (await client.call("getTask", { path: { task: id }, signal })).task,
      // Somebody may have put it back meanwhile.
      isOver,
      concerns: (event) => event.type === "task.ended" && event.data.task === id,
    },
    options,
  );
}

export function isOver(task: Pick<TaskView, "status">): boolean {
  return task.status !== "pending" && task.status !== "dispatched";
}
