/** Admits tasks: validates each one and stores it once before anything else happens. */
import type { NamedCheck } from "@aegis/contract/check.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { type MessageId, newId, type SessionId, type TaskId } from "@aegis/contract/ids.ts";
import type { Starter } from "@aegis/contract/starter.ts";
import type { Task } from "@aegis/contract/task.ts";
import { checkBody } from "@aegis/sessions/inbox/inbox.ts";
import type { StoreTx } from "@aegis/store/store.ts";
import type { QueueDefinitions } from "./definitions.ts";
import { acceptStarter, type RightsOptions } from "./rights.ts";

export type NewTask = {
  queue: string;
  payload: string;
  /** Makes the request idempotent: an id is enqueued once. */
  id?: TaskId | undefined;
  /** The session that enqueues the task; null for a person. */
  producer: SessionId | null;
  /** The agent that started the run which enqueues the task; default: the producer. */
  starter?: Starter | null | undefined;
  /** True if the caller blocks until the task ends. Such a task is refused if it could not start. */
  waits?: boolean | undefined;
  /** Whether the producer receives a message when the task ends. */
  callback: boolean;
  /** A command that must succeed before the task completes, instead of the check of the queue. */
  check?: NamedCheck | undefined;
  /** The message whose turn caused the task. */
  cause?: { chain: MessageId; hops: number } | undefined;
};

/** Throws if no worker could ever take the task. */
export function checkTask({ payload, cause }: NewTask, maxHops: number): void {
  checkBody(payload);
  // The worker's message and its answer each add one hop to the chain.
  if (cause === undefined || cause.hops + 2 <= maxHops) return;
  throw new AegisError("too_many", "refused: this task belongs to a chain of agents that is too long already", {
    hint: `raise messages.max_hops (now ${maxHops}) if the chain is meant to be that long`,
  });
}

export async function insertTask(
  tx: StoreTx,
  input: NewTask,
  options: RightsOptions & { definitions: QueueDefinitions; now: number },
): Promise<{ task: Task; duplicate: boolean }> {
  const { definitions, now } = options;
  const { queue, payload, producer, callback, cause } = input;
  const { settings } = await definitions.get(tx, queue);
  const before = input.id === undefined ? null : await tx.tasks.get(input.id);
  if (before) {
    const isSame = (await tx.receipts.check(before.id))?.command === input.check?.command;
    if (before.queue === queue && before.payload === payload && isSame) return { task: before, duplicate: true };
    throw new AegisError("conflict", `the key of task ${before.id} was used before for another task`, {
      hint: "choose a fresh key for each task",
    });
  }
  if (input.check !== undefined && input.check.by !== "person" && settings.check !== undefined) {
    throw new AegisError("forbidden", `refused: queue "${queue}" has its own check`, {
      hint: "leave out the check; only a person may replace it",
    });
  }
  const task: Task = {
    id: input.id ?? newId("tsk", now),
    queue,
    payload,
    status: "pending",
    producer,
    starter: await acceptStarter(tx, input, { queue, settings }, options),
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
  if (input.check !== undefined) await tx.receipts.setCheck(task.id, input.check);
  await tx.events.append({ type: "task.enqueued", session: null, data: { queue, task } }, now);
  return { task, duplicate: false };
}
