/**
 * Recovers tasks that are stored as dispatched after a stop. Runs after the recovery of sessions and before any session
 * is woken, so that an interrupted worker does not continue while its task is retried.
 */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { onCrashOf } from "@aegis/agents/agent-table.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { QueueSettings, Task } from "@aegis/contract/task.ts";
import type { ClosedSession } from "@aegis/sessions/close.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { StoreTx } from "@aegis/store/store.ts";
import { workerFailures } from "../work/failure-texts.ts";
import type { QueueDefinitions } from "./definitions.ts";
import { notStarted, type TaskEndings } from "./endings.ts";

export type RecoverOptions = {
  definitions: QueueDefinitions;
  endings: TaskEndings;
  agents: AgentTable;
  sessions: Sessions;
};

/** A task whose worker continues. A worker that has not begun gets its whole time, then `since` is null. */
type AdoptedTask = { task: Task; worker: SessionId; settings: QueueSettings | null; since: number | null };

export type SettledTasks = {
  adopted: number;
  interrupted: number;
  restarted: number;
  adopt: AdoptedTask[];
  closed: ClosedSession[];
};

/**
 * Settles the tasks of one node inside a transaction of the caller, which then watches the adopted ones and lets the
 * closed sessions leave. Safe to run again.
 */
export async function recoverTasksIn(tx: StoreTx, node: string | null, options: RecoverOptions): Promise<SettledTasks> {
  const settled: SettledTasks = { adopted: 0, interrupted: 0, restarted: 0, adopt: [], closed: [] };
  for (const task of await tx.tasks.dispatched(node)) {
    const adopted = await recoverTask(tx, options, task);
    if (typeof adopted === "string") settled[adopted] += 1;
    else {
      settled.adopted += 1;
      settled.adopt.push(adopted);
    }
  }
  // Includes workers whose task had ended before the stop and whose session was not closed yet.
  for (const worker of new Set(await tx.tasks.strayWorkers(node)))
    settled.closed.push(await options.sessions.closeIn(tx, worker, "its task is over"));
  return settled;
}

async function recoverTask(
  tx: StoreTx,
  options: RecoverOptions,
  task: Task,
): Promise<"interrupted" | "restarted" | AdoptedTask> {
  const { definitions, endings, sessions } = options;
  const { worker } = task;
  const session = worker === null ? null : await tx.sessions.get(worker);
  if (worker === null || session === null) {
    // Version 0.2 stored the session of a worker after the dispatch.
    const at = task.dispatched_at ?? task.enqueued_at;
    await tx.tasks.endAttempt(task.id, task.attempts, { at, error: notStarted, output_tokens: 0, cost: 0 });
    await endings.requeueAfterStop(tx, task, notStarted);
    return "restarted";
  }
  const queue = await definitions.find(tx, task.queue);
  const [turn] = await tx.turns.list(worker, 1);
  if (turn?.reason !== "lost") {
    const since = turn === undefined ? null : task.dispatched_at;
    return { task, worker, settings: queue?.settings ?? null, since };
  }
  const words = await sessions.lastText(tx, worker);
  // A worker that never received its task repeats nothing.
  const mayRepeat = turn.handed_over.length === 0 || onCrashOf(options.agents, session) === "retry";
  const retry = queue?.settings.on_crash === "retry" && mayRepeat ? "after a stop" : "no";
  await endings.end(tx, task, { status: "failed", error: workerFailures.lost, words, retry });
  return "interrupted";
}
