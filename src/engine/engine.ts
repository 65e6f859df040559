/**
 * The durable execution port: runs whose steps are remembered. Asynchronous throughout: nothing above it may assume that
 * a run is executed in this process.
 *
 * After a stop the body of a run is called again from its beginning. Steps on record return what they returned, one after
 * the other in the order they ended; nothing new is performed before all of them have. A body that does not ask for what
 * is on record is parked and reported, never mixed with it. A step that waits while its run is cancelled or abandoned is a
 * promise that never settles: no exception passes through the body.
 */
import type { MessageId, RunId, SessionId } from "../contract/ids.ts";
import type { Json, Run, RunStatus, Step } from "../contract/run.ts";
import type { StoreTx } from "../store/store.ts";

export interface Engine {
  /** Makes a body known. Unfinished runs that missed it go on. Returns its undo. Throws `conflict` for a taken name. */
  define(definition: Definition): () => void;
  /** Starts a run; a repeated id gives the run that is there. */
  start(request: NewRun): Promise<Run>;
  get(id: RunId): Promise<Run | null>;
  /** Newest first. */
  list(filter: { workflow?: string | undefined; status?: RunStatus | undefined; limit: number }): Promise<Run[]>;
  /** In the order they were begun. */
  steps(id: RunId, limit?: number): Promise<Step[]>;
  /** Tells a run something it may be waiting for. The same key twice tells it once. */
  signal(id: RunId, name: string, value: Json, key: string): Promise<void>;
  /** The run once it has ended or is parked. Rejects with the signal's reason. */
  settled(id: RunId, signal?: AbortSignal): Promise<Run>;
  /** Ends it as cancelled, unless it has ended. */
  cancel(id: RunId, reason: string): Promise<Run>;
  /**
   * Takes a parked run up again; `force` sets aside what is on record and no longer asked for. One that failed or was
   * cancelled goes back to its last checkpoint. One that is under way is left alone.
   */
  resume(id: RunId, options?: { force?: boolean }): Promise<Run>;
  /** Lets go of a run that is under way here and takes it up from its record, with the body that is defined then. */
  restart(id: RunId, reason: string): Promise<void>;
  /** A new run that has passed the first `checkpoints` of another one; when absent, all that its code still fits. */
  fork(id: RunId, options?: { id?: RunId | undefined; checkpoints?: number | undefined }): Promise<Run>;
  /** Takes up every unfinished run that nobody executes. Gives those it took. */
  launch(): Promise<Run[]>;
  /** Lets go of all runs as a crash would; the next launch takes them up. */
  stop(): Promise<void>;
}

export type Definition = {
  name: string;
  /** Changes whenever the body does. */
  code: string;
  /** How long the body may take to ask for its next step; a body in another thread needs more than one beside us. */
  graceMs?: number;
  body(context: RunContext, args: Record<string, unknown>): Promise<unknown>;
};

/** What belongs to the end of a run, whichever it is. */
export type RunHooks = {
  /** Part of the transaction that ends it. What it gives is recorded with the end. */
  onEnd(tx: StoreTx, run: Run): Promise<"none" | "delivered" | "dropped">;
  /** After that transaction. A crash in between leaves it out. Must not throw. */
  afterEnd(run: Run): Promise<void>;
};

export type NewRun = {
  id?: RunId | undefined;
  workflow: string;
  args: Record<string, unknown>;
  host?: SessionId | null;
  callback?: boolean;
  chain?: MessageId | null;
  hops?: number;
};

export interface RunContext {
  readonly run: Pick<Run, "id" | "workflow" | "host" | "chain" | "hops" | "retries">;
  /** Aborts when the run is cancelled or let go, or the branch that asks is over; the reason tells which. */
  readonly signal: AbortSignal;
  step<T>(spec: StepSpec, work: StepWork<T>): Promise<T>;
  /** Over restarts as well, for days. */
  sleep(ms: number): Promise<void>;
  /** Waits for a signal of this name; null when the time is over. */
  receive(name: string, options?: { timeoutMs?: number }): Promise<Json | null>;
  /**
   * Starts the branches in order, each with steps of its own, and gives their results in order. The first failure cuts
   * the others and is thrown.
   */
  parallel<T>(branches: readonly (() => Promise<T>)[]): Promise<T[]>;
  /** Opens a new epoch. Throws `TypeError` when the payload is not JSON. */
  checkpoint(name: string, payload: unknown): Promise<void>;
  /** The payload of the last checkpoint, whose epoch it moves to; null when there is none. */
  resumeState(): Promise<Json | null>;
  /** Writes a line once, however often the body is called again. */
  log(text: string, level?: "info" | "warning" | "error"): void;
}

/** Method and arguments name a step; the same again in one epoch is told apart by counting. */
export type StepSpec = { method: string; args: unknown; label: string };

export type StepWork<T> = {
  /**
   * Part of the transaction that records the beginning; effects made here carry the key. What it gives is there for
   * `perform`, also after a stop in between. Without it nothing is written before the end.
   */
  begin?(tx: StoreTx, key: string): Promise<Begun>;
  /** Must come to the same when it is performed again. What it gives must be JSON, or nothing. */
  perform(step: StepInProgress): Promise<T>;
  /** Part of the transaction that records a good end. */
  end?(tx: StoreTx, result: T): Promise<void>;
};

/** `session` lives no longer than the run. */
export type Begun = { value: Json; session?: SessionId };

export type StepInProgress = {
  /** The same whenever this step is performed. */
  key: string;
  begun: Json;
  /** It was begun before, and nobody knows how far it came. */
  again: boolean;
  signal: AbortSignal;
};

/** Why a signal aborted, so that a step knows whether its effects are still wanted. */
export class RunCancelled extends Error {
  override readonly name = "RunCancelled";
}

export class EngineStopped extends Error {
  override readonly name = "EngineStopped";
}
