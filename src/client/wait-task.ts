/** Waits until a task has ended. */
import type { TaskId } from "../contract/ids.ts";
import type { TaskView } from "../contract/task.ts";
import type { Client } from "./client.ts";
import { type FollowOptions, followEvents } from "./events.ts";

/** Over any number of restarts of the daemon. Throws the signal's reason when it aborts; the task goes on. */
export async function waitForTask(
  client: Client,
  id: TaskId,
  options: Pick<FollowOptions, "signal" | "onReconnect" | "sleep"> = {},
): Promise<TaskView> {
  const { signal } = options;
  const read = async () => (await client.call("getTask", { path: { task: id }, signal })).task;
  // The position comes first: what changes after it is in the stream, what changed before is in the task.
  const { last_seq: after } = await client.call("listEvents", { query: { limit: 1 }, signal });
  const task = await read();
  if (isOver(task)) return task;
  for await (const item of followEvents(client, { ...options, after })) {
    if (item.kind !== "event" || item.event.type !== "task.ended" || item.event.data.task !== id) continue;
    const now = await read();
    // Somebody may have put it back meanwhile.
    if (isOver(now)) return now;
  }
  throw signal?.reason;
}

export function isOver(task: Pick<TaskView, "status">): boolean {
  return task.status !== "pending" && task.status !== "dispatched";
}
