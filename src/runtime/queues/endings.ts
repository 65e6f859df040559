/**
 * Ends attempts and tasks. One transaction writes the end and the message about it, so that a producer receives each
 * ending exactly once, also across a crash.
 */
import { isAegisError } from "../../contract/errors.ts";
import type { SessionId } from "../../contract/ids.ts";
import { type CheckReceipt, isVerified } from "../../contract/receipt.ts";
import type { Task } from "../../contract/task.ts";
import { type Backoff, backoffMs } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { StoreTx } from "../../store/store.ts";
import type { Inbox } from "../inbox/inbox.ts";
import { callbackBody, type Ending } from "./callback.ts";
import type { QueueDefinitions } from "./definitions.ts";
import { usageOfWorker } from "./spending.ts";

/** The delay before a failed task is retried. */
const retryBackoff: Backoff = { firstMs: 1_000, longestMs: 5 * 60_000 };

export type EndingsOptions = {
  clock: Clock;
  random: () => number;
  inbox: Inbox;
  definitions: QueueDefinitions;
  maxHops: () => number;
};

/** `told` is the session that received a message: wake it after the commit. */
export type Ended = { told: SessionId | null };

export class Endings {
  readonly #options: EndingsOptions;

  constructor(options: EndingsOptions) {
    this.#options = options;
  }

  /** Ends the current attempt, if there is one, and the task unless it is retried. */
  async end(tx: StoreTx, task: Task, ending: Ending): Promise<Ended> {
    const now = this.#options.clock.now();
    if (task.status === "dispatched" && task.worker !== null) {
      const usage = await usageOfWorker(tx, task.worker);
      await tx.tasks.endAttempt(task.id, task.attempts, { at: now, error: errorOf(ending), ...usage });
    }
    if (ending.status === "failed") {
      const failures = task.failures + 1;
      const settings = (await this.#options.definitions.find(tx, task.queue))?.settings;
      if (ending.retry !== "no" && settings && failures <= settings.retries) {
        const not_before =
          ending.retry === "later" ? now + backoffMs(retryBackoff, failures, this.#options.random) : null;
        await this.requeue(tx, task, { reason: ending.error, failures, not_before });
        return { told: null };
      }
    }
    return this.#finish(tx, task, ending, now);
  }

  /** Returns the task to its old position in the queue. */
  async requeue(
    tx: StoreTx,
    task: Task,
    change: { reason: string; failures: number; not_before: number | null },
  ): Promise<void> {
    const { reason, failures, not_before } = change;
    await tx.tasks.update(task.id, {
      status: "pending",
      failures,
      not_before,
      dispatched_at: null,
      ended_at: null,
      result: null,
      error: null,
    });
    await tx.events.append(
      {
        type: "task.requeued",
        session: null,
        data: { queue: task.queue, task: task.id, reason, failures, not_before },
      },
      this.#options.clock.now(),
    );
  }

  async #finish(tx: StoreTx, task: Task, ending: Ending, now: number): Promise<Ended> {
    const { status } = ending;
    const result = ending.status === "completed" ? ending.result : ending.words;
    const error = errorOf(ending);
    const failures = status === "failed" ? task.failures + 1 : task.failures;
    await tx.tasks.update(task.id, { status, result, error, failures, not_before: null, ended_at: now });
    const receipt = await receiptOf(tx, task);
    const told =
      task.callback && task.producer !== null
        ? await this.#callBack(tx, task, task.producer, { ending, receipt })
        : null;
    const callback = !task.callback || task.producer === null ? "none" : told === null ? "dropped" : "delivered";
    await tx.events.append(
      {
        type: "task.ended",
        session: null,
        data: { queue: task.queue, task: task.id, status, result, error, callback, receipt: receipt?.id ?? null },
      },
      now,
    );
    return { told };
  }

  /** Null if no session is left to notify. */
  async #callBack(
    tx: StoreTx,
    task: Task,
    producer: SessionId,
    { ending, receipt }: { ending: Ending; receipt: CheckReceipt | null },
  ): Promise<SessionId | null> {
    try {
      await this.#options.inbox.admitIn(tx, {
        session: producer,
        sender: {
          kind: "queue",
          name: task.queue,
          task: task.id,
          ...(ending.status === "completed" ? { status: "ok", verified: isVerified(receipt) } : { status: "error" }),
        },
        body: callbackBody(ending, receipt),
        // The answer to an accepted task is never refused because of its hop count.
        cause:
          task.chain === null
            ? undefined
            : { chain: task.chain, hops: Math.min(task.hops + 1, this.#options.maxHops() - 1) },
      });
      return producer;
    } catch (error) {
      if (isAegisError(error) && (error.code === "closed" || error.code === "not_found")) return null;
      throw error;
    }
  }
}

/** Of the last attempt only: what an earlier worker did is not the result. */
async function receiptOf(tx: StoreTx, task: Task): Promise<CheckReceipt | null> {
  const [newest] = await tx.receipts.list({ subject: task.id, limit: 1 });
  return newest === undefined || newest.session !== task.worker || newest.status === "running" ? null : newest;
}

function errorOf(ending: Ending): string | null {
  if (ending.status === "completed") return null;
  return ending.status === "failed" ? ending.error : "cancelled";
}
