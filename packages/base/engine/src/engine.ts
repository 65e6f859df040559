/**
 * The durable execution port: runs whose steps are recorded. Every method is asynchronous, because callers must not
 * assume that a run executes in this process.
 *
 * After a restart, the engine calls the body of a run again from its start (replay). Recorded steps return their
 * recorded results, in the order in which they ended. Nothing new is performed before all of them have returned. If the
 * body does not request the recorded steps, or its code has changed and it does not request a step that has started, the
 * run is parked and reported; old and new steps are never mixed. When a
 * run is cancelled or abandoned, its waiting steps are promises that never settle, so no exception passes through the
 * body.
 */
import type { MessageId, RunId, SessionId } from "@aegis/contract/ids.ts";
import type { Json, Run, RunStatus, Step } from "@aegis/contract/run.ts";
import type { Starter } from "@aegis/contract/starter.ts";
import type { StepRow, StoreTx } from "@aegis/store/store.ts";

export interface Engine {
  /**
   * Registers a body. Unfinished runs that waited for it resume. Returns a function that unregisters it. Throws
   * `conflict` if the name is taken.
   */
  define(definition: Definition): () => void;
  /** Starts a run. Idempotent by id: a repeated id returns the existing run. */
  start(request: NewRun): Promise<Run>;
  get(id: RunId): Promise<Run | null>;
  /** Newest first. */
  list(filter: { workflow?: string | undefined; status?: RunStatus | undefined; limit: number }): Promise<Run[]>;
  /** In the order in which they started. */
  steps(id: RunId, limit?: number): Promise<Step[]>;
  /** Sends a signal to a run. Idempotent by key. */
  signal(id: RunId, name: string, value: Json, key: string): Promise<void>;
  /** Resolves when the run has ended or is parked. Rejects with the signal's reason. */
  settled(id: RunId, signal?: AbortSignal): Promise<Run>;
  /** Ends the run as cancelled, unless it has ended. */
  cancel(id: RunId, reason: string): Promise<Run>;
  /**
   * Resumes a parked run; `force` discards recorded steps that the body no longer requests. Restarts a failed or
   * cancelled run from its last checkpoint. Does nothing if the run is executing.
   */
  resume(id: RunId, options?: { force?: boolean }): Promise<Run>;
  /** Releases a run that executes here and replays it with the body that is registered then. */
  restart(id: RunId, reason: string): Promise<void>;
  /**
   * Starts a new run that has passed the first `checkpoints` of another one. Default: all checkpoints that still match
   * the code.
   */
  fork(id: RunId, options?: { id?: RunId | undefined; checkpoints?: number | undefined }): Promise<Run>;
  /** Resumes every unfinished run without an executor. Returns the resumed runs. */
  launch(): Promise<Run[]>;
  /** Resumes runs whose executor is gone, after `launch`. */
  adoptFreed(): void;
  /** Releases all runs as a crash would; the next `launch` resumes them. */
  stop(): Promise<void>;
}

export type Definition = {
  name: string;
  /** Changes when the body changes. */
  code: string;
  /** How long the body may take to request its next step. A body in another thread needs more time. */
  graceMs?: number;
  body(context: RunContext, args: Record<string, unknown>): Promise<unknown>;
};

/** Called at the end of a run, for every outcome, and when it gives up steps. */
export type RunHooks = {
  /**
   * Part of the transaction that gives up steps which have started and not ended: the run has ended, or its code no
   * longer requests them. Takes back what these steps wait for.
   */
  onGivenUp(tx: StoreTx, run: Pick<Run, "id" | "workflow">, steps: readonly OpenStep[], why: string): Promise<void>;
  /** Part of the transaction that ends the run. Its result is recorded with the end. */
  onEnd(tx: StoreTx, run: Run): Promise<"none" | "delivered" | "dropped">;
  /** Called after that transaction. A crash in between skips it. Must not throw. */
  afterEnd(run: Run): Promise<void>;
};

/** A step that has started: its method, and what its `begin` returned, as JSON. */
export type OpenStep = Pick<StepRow, "method" | "begun">;

export type NewRun = {
  id?: RunId | undefined;
  workflow: string;
  args: Record<string, unknown>;
  host?: SessionId | null;
  /** The agent whose rights limit what the run starts. */
  starter?: Starter | null;
  callback?: boolean;
  chain?: MessageId | null;
  hops?: number;
};

export interface RunContext {
  readonly run: Pick<Run, "id" | "workflow" | "host" | "starter" | "chain" | "hops" | "retries">;
  /** Aborts when the run is cancelled or released, or when the requesting branch has ended; see the reason. */
  readonly signal: AbortSignal;
  step<T>(spec: StepSpec, work: StepWork<T>): Promise<T>;
  /** Sleeps durably: restarts do not end it, and it can last for days. */
  sleep(ms: number): Promise<void>;
  /** Waits for a signal with this name. Returns null after the timeout. */
  receive(name: string, options?: { timeoutMs?: number }): Promise<Json | null>;
  /**
   * Starts the branches in order, each with its own steps, and returns their results in order. The first failure stops
   * the other branches and is thrown.
   */
  parallel<T>(branches: readonly (() => Promise<T>)[]): Promise<T[]>;
  /** Opens a new epoch. Throws `TypeError` if the payload is not JSON. */
  checkpoint(name: string, payload: unknown): Promise<void>;
  /** Returns the payload of the last checkpoint and moves to its epoch. Returns null if there is none. */
  resumeState(): Promise<Json | null>;
  /** Writes a line once, even if the body is replayed. */
  log(text: string, level?: "info" | "warning" | "error"): void;
}

export const heldLabel = "set aside: ";

/** Whether a forced resume discarded the step, so that its row only keeps its session for the end of the run. */
export function isHeld({ label }: Pick<StepRow, "label">): boolean {
  return label.startsWith(heldLabel);
}

/** Method and arguments identify a step. Identical steps in one epoch are numbered. */
export type StepSpec = { method: string; args: unknown; label: string };

export type StepWork<T> = {
  /**
   * Part of the transaction that records the start. Side effects made here use the key as idempotency key. The result
   * is available to `perform`, also after a restart. Without `begin`, nothing is written before the end.
   */
  begin?(tx: StoreTx, key: string): Promise<BegunStep>;
  /**
   * Must be idempotent. Must return JSON or nothing. Is called again if it throws `StoreAwayError`, until the run stops:
   * a lost database does not fail a run.
   */
  perform(step: StepInProgress): Promise<T>;
  /** Part of the transaction that records a successful end. */
  end?(tx: StoreTx, result: T, key: string): Promise<void>;
};

/** `session` is closed when the run ends. */
export type BegunStep = { value: Json; session?: SessionId };

type StepInProgress = {
  /** The idempotency key: the same each time this step is performed. */
  key: string;
  begun: Json;
  /** True if the step was started before and its progress is unknown. */
  again: boolean;
  signal: AbortSignal;
};

/** The reason of an aborted signal, so that a step knows whether its side effects are still wanted. */
export class RunCancelled extends Error {
  override readonly name = "RunCancelled";
}

export class EngineStopped extends Error {
  override readonly name = "EngineStopped";
}
