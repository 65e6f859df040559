/**
 * Ends attempts and tasks: derives the outcome from the verdict on the worker's session, and notifies the producer. One
 * transaction writes the end and the message about it, so that a producer receives each ending exactly once, even
 * across a crash.
 */
import type { SessionId } from "@aegis/contract/ids.ts";
import { type CheckReceipt, isVerified, receiptWords } from "@aegis/contract/receipt.ts";
import type { Task } from "@aegis/contract/task.ts";
import { type Backoff, backoffMs } from "@aegis/lib/backoff.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import type { StoreTx, TurnRow } from "@aegis/store/store.ts";
import { workerFailures } from "../work/failure-texts.ts";
import type { EndedWork as EndedSession } from "../work/judge.ts";
import { receiptOf } from "../work/receipt-of.ts";
import { tellAsker } from "../work/tell-asker.ts";
import { usageOfWorker } from "./budgets.ts";
import type { QueueDefinitions } from "./definitions.ts";

/** The delay before a failed task is retried. */
const retryBackoff: Backoff = { firstMs: 1_000, longestMs: 5 * 60_000 };
/** A stop of Aegis interrupted the task so often in a row that it may be the cause, or that no life of Aegis is long enough. */
const crashBackoff: Backoff = { firstMs: 1_000, longestMs: 60_000 };
const crashesAtOnce = 2;

/** The outcome of a task. */
export type TaskEnding =
  | { status: "completed"; result: string }
  /**
   * `no` if another attempt would end the same way. `after a stop`: Aegis stopped, so the attempt uses up no retry; a queue
   * without retries does not repeat it.
   */
  | { status: "failed"; error: string; words: string | null; retry: "no" | "later" | "after a stop" }
  | { status: "cancelled"; words: string | null; was: "pending" | "in_flight"; lastError: string | null };

export const notStarted = "Aegis stopped before the worker was started";
const stops: ReadonlySet<string | null> = new Set([workerFailures.lost, notStarted]);

/** `words` is the worker's last text, from an earlier turn if this one has none. */
export function endingOf({ turn, error }: EndedSession, words: string | null): TaskEnding {
  if (turn !== null && error === null) return { status: "completed", result: turn.text };
  return { status: "failed", error: error ?? workerFailures.failed, words, retry: retryOf(turn) };
}

/** Errors that a retry cannot fix without a change of the configuration or the machine. */
const permanent: ReadonlySet<string> = new Set(["not_installed", "not_logged_in", "bad_model", "blocked", "lost"]);

function retryOf(turn: TurnRow | null): "no" | "later" {
  if (turn === null || turn.reason === "cancelled") return "no";
  if (turn.reason === "truncated" || turn.reason === "lost") return "later";
  return permanent.has(turn.error?.code ?? "") ? "no" : "later";
}

export type TaskEndingsOptions = {
  clock: Clock;
  random: () => number;
  inbox: Inbox;
  definitions: QueueDefinitions;
  maxHops: () => number;
};

/** `told` is the session that received a message: wake it after the commit. */
export type EndedTask = { told: SessionId | null };

export class TaskEndings {
  readonly #options: TaskEndingsOptions;

  constructor(options: TaskEndingsOptions) {
    this.#options = options;
  }

  /** Ends the current attempt, if there is one, and the task unless it is retried. */
  async end(tx: StoreTx, task: Task, ending: TaskEnding): Promise<EndedTask> {
    const now = this.#options.clock.now();
    if (task.status === "dispatched" && task.worker !== null) {
      const usage = await usageOfWorker(tx, task.worker);
      await tx.tasks.endAttempt(task.id, task.attempts, { at: now, error: errorOf(ending), ...usage });
    }
    if (ending.status === "failed") {
      const failures = task.failures + 1;
      const retries = (await this.#options.definitions.find(tx, task.queue))?.settings.retries ?? 0;
      if (ending.retry === "after a stop" && retries > 0) {
        await this.requeueAfterStop(tx, task, ending.error);
        return { told: null };
      }
      if (ending.retry === "later" && failures <= retries) {
        const not_before = now + backoffMs(retryBackoff, failures, this.#options.random);
        await this.requeue(tx, task, { reason: ending.error, failures, not_before });
        return { told: null };
      }
    }
    return this.#finish(tx, task, ending, now);
  }

  /** After an attempt that a stop of Aegis ended. The more of them in a row, the longer the task waits. */
  async requeueAfterStop(tx: StoreTx, task: Task, reason: string): Promise<void> {
    const attempts = (await tx.tasks.attempts(task.id)).reverse();
    const other = attempts.findIndex(({ error }) => !stops.has(error));
    const late = (other === -1 ? attempts.length : other) - crashesAtOnce;
    const now = this.#options.clock.now();
    const not_before = late <= 0 ? null : now + backoffMs(crashBackoff, late, this.#options.random);
    await this.requeue(tx, task, { reason, failures: task.failures, not_before });
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

  async #finish(tx: StoreTx, task: Task, ending: TaskEnding, now: number): Promise<EndedTask> {
    const { status } = ending;
    const result = ending.status === "completed" ? ending.result : ending.words;
    const error = errorOf(ending);
    const failures = status === "failed" ? task.failures + 1 : task.failures;
    await tx.tasks.update(task.id, { status, result, error, failures, not_before: null, ended_at: now });
    // Of the last attempt only.
    const receipt = await receiptOf(tx, task.id, task.worker);
    const asker = task.callback ? task.producer : null;
    const message = asker === null ? null : await this.#tell(tx, { task, asker, ending, receipt });
    const callback = asker === null ? "none" : message === null ? "dropped" : "delivered";
    await tx.events.append(
      {
        type: "task.ended",
        session: null,
        data: { queue: task.queue, task: task.id, status, result, error, callback, receipt: receipt?.id ?? null },
      },
      now,
    );
    return { told: message === null ? null : asker };
  }

  #tell(tx: StoreTx, about: { task: Task; asker: SessionId; ending: TaskEnding; receipt: CheckReceipt | null }) {
    const { task, asker, ending, receipt } = about;
    const from = { kind: "queue" as const, name: task.queue, task: task.id };
    return tellAsker(
      tx,
      {
        asker,
        sender:
          ending.status === "completed"
            ? { ...from, status: "ok", ...(receipt === null ? {} : { verified: isVerified(receipt) }) }
            : { ...from, status: "error" },
        body: callbackBody(ending, receipt),
        cutNote: (bytes) => `the whole message is ${bytes} bytes long`,
        request: task,
      },
      this.#options,
    );
  }
}

function errorOf(ending: TaskEnding): string | null {
  if (ending.status === "completed") return null;
  return ending.status === "failed" ? ending.error : "cancelled";
}

/** The message that tells the producer. The receipt comes first: the worker writes the rest. */
function callbackBody(ending: TaskEnding, receipt: CheckReceipt | null): string {
  const text = callbackText(ending);
  return receipt === null ? text : `[${receiptWords(receipt)}]\n\n${text}`;
}

function callbackText(ending: TaskEnding): string {
  switch (ending.status) {
    case "completed":
      return ending.result.trim() === "" ? "the worker finished without a final message" : ending.result;
    case "failed":
      return ending.words === null
        ? ending.error
        : `${ending.error}\n\nThe worker's last message was:\n\n${ending.words}`;
    case "cancelled":
      if (ending.words !== null) return `cancelled — the worker's last message was:\n\n${ending.words}`;
      if (ending.was === "in_flight") return "cancelled — the worker had not said anything yet";
      return ending.lastError === null
        ? "cancelled (never dispatched)"
        : `cancelled while it waited to be tried again; the last try failed: ${ending.lastError}`;
  }
}
