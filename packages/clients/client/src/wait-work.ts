/** Waits until a task, a run or a firing has ended. */
import type { FiringId, RunId, TaskId } from "@aegis/contract/ids.ts";
import type { RunView } from "@aegis/contract/run.ts";
import type { Firing } from "@aegis/contract/schedule.ts";
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
      isOver: taskIsOver,
      concerns: (event) => event.type === "task.ended" && event.data.task === id,
    },
    options,
  );
}

export function taskIsOver(task: Pick<TaskView, "status">): boolean {
  return task.status !== "pending" && task.status !== "dispatched";
}

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
      isOver: runIsOver,
      concerns: ({ type, data }) => (type === "run.ended" || type === "run.parked") && data.run === id,
    },
    options,
  );
}

/** A run whose workflow is missing, for example while its plugin is replaced, resumes by itself. */
function runIsOver({ status, parked }: Pick<RunView, "status" | "parked">): boolean {
  return status === "parked" ? parked?.reason !== "missing" : status !== "running";
}

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
