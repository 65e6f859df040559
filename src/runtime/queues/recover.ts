/**
 * What a stop left behind: tasks on record as dispatched. Run after the sessions' own recovery and before any session is
 * woken, so that a cut worker does not go on while its task is tried again.
 */
import { isAegisError } from "../../contract/errors.ts";
import type { SessionId } from "../../contract/ids.ts";
import type { Task } from "../../contract/task.ts";
import type { Store } from "../../store/store.ts";
import { lastWords } from "../sessions/last-words.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { QueueCatalog } from "./catalog.ts";
import type { Endings } from "./endings.ts";
import { interruptedError } from "./verdict.ts";
import type { Workers } from "./workers.ts";

export type RecoverOptions = {
  store: Store;
  catalog: QueueCatalog;
  endings: Endings;
  sessions: Sessions;
  workers: Workers;
};

export type RecoveredTasks = { adopted: number; interrupted: number; restarted: number };

/** Safe to run again after a crash in the middle of it. */
export async function recoverTasks(options: RecoverOptions): Promise<RecoveredTasks> {
  const { store, sessions } = options;
  const total: RecoveredTasks = { adopted: 0, interrupted: 0, restarted: 0 };
  for (const task of await store.read.tasks.dispatched()) total[await recoverTask(options, task)] += 1;
  // Also those whose task was over before the stop, and only their end was still to come.
  for (const worker of await store.read.tasks.strayWorkers()) await closeWorker(sessions, worker);
  return total;
}

async function recoverTask(options: RecoverOptions, task: Task): Promise<keyof RecoveredTasks> {
  const { store, catalog, endings, workers } = options;
  const { worker } = task;
  const session = worker === null ? null : await store.read.sessions.get(worker);
  if (worker === null || session === null) {
    await store.transact(async (tx) => {
      const at = task.dispatched_at ?? task.enqueued_at;
      const reason = "Aegis stopped before the worker was started";
      await tx.tasks.endAttempt(task.id, task.attempts, { at, error: reason, output_tokens: 0, cost: 0 });
      await endings.requeue(tx, task, { reason, failures: task.failures, not_before: null });
    });
    return "restarted";
  }
  const queue = await catalog.find(store.read, task.queue);
  const [turn] = await store.read.turns.list(worker, 1);
  if (turn?.reason !== "lost") {
    // A worker that has not begun gets its whole time.
    const since = turn === undefined ? null : task.dispatched_at;
    workers.adopt(task, worker, queue?.settings ?? null, since);
    return "adopted";
  }
  const words = await lastWords(store.read, worker);
  const retry = queue?.settings.on_crash === "retry" ? "at once" : "no";
  await store.transact((tx) => endings.end(tx, task, { status: "failed", error: interruptedError, words, retry }));
  return "interrupted";
}

async function closeWorker(sessions: Sessions, worker: SessionId): Promise<void> {
  await sessions.close(worker, "its task is over").catch((error: unknown) => {
    if (!isAegisError(error) || error.code !== "closed") throw error;
  });
}
