/** Takes tasks in: checked, once each, on record before anything happens. */
import { AegisError } from "../../contract/errors.ts";
import { type MessageId, newId, type SessionId, type TaskId } from "../../contract/ids.ts";
import type { Task } from "../../contract/task.ts";
import type { StoreTx } from "../../store/store.ts";
import { checkBody } from "../inbox/inbox.ts";
import type { QueueCatalog } from "./catalog.ts";

export type NewTask = {
  queue: string;
  payload: string;
  /** Makes a repeated request harmless: the same id is enqueued once. */
  id?: TaskId | undefined;
  /** The session that gives the task; null for a person. */
  producer: SessionId | null;
  /** Whether the producer gets a message when the task ends. */
  callback: boolean;
  /** The message whose turn caused the task. */
  cause?: { chain: MessageId; hops: number } | undefined;
};

/** Throws when no worker could be given the task. */
export function checkTask({ payload, cause }: NewTask, maxHops: number): void {
  checkBody(payload);
  // The worker gets one message more than the chain has, and its answer is another.
  if (cause === undefined || cause.hops + 2 <= maxHops) return;
  throw new AegisError("too_many", "refused: this task belongs to a chain of agents that is too long already", {
    hint: `raise messages.max_hops (now ${maxHops}) if the chain is meant to be that long`,
  });
}

export async function insertTask(
  tx: StoreTx,
  input: NewTask,
  { catalog, now }: { catalog: QueueCatalog; now: number },
): Promise<{ task: Task; duplicate: boolean }> {
  const { queue, payload, producer, callback, cause } = input;
  await catalog.get(tx, queue);
  const before = input.id === undefined ? null : await tx.tasks.get(input.id);
  if (before) {
    if (before.queue === queue && before.payload === payload) return { task: before, duplicate: true };
    throw new AegisError("conflict", `the key of task ${before.id} was used before for another task`, {
      hint: "choose a fresh key for each task",
    });
  }
  const task: Task = {
    id: input.id ?? newId("tsk", now),
    queue,
    payload,
    status: "pending",
    producer,
    callback,
    chain: cause?.chain ?? null,
    hops: cause?.hops ?? 0,
    attempts: 0,
    failures: 0,
    worker: null,
    result: null,
    error: null,
    enqueued_at: now,
    not_before: null,
    dispatched_at: null,
    ended_at: null,
  };
  await tx.tasks.insert(task);
  await tx.events.append({ type: "task.enqueued", session: null, data: { queue, task } }, now);
  return { task, duplicate: false };
}
