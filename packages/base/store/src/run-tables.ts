/** The tables of workflow runs, their steps and signals, part of the store port. */
import type { RunId, SessionId, TaskId } from "@aegis/contract/ids.ts";
import type { Run, RunStatus, Step, StepStatus } from "@aegis/contract/run.ts";

/** A run as stored: the fields that clients see, and its executor. */
export type RunRow = Omit<Run, "node"> & {
  /** The executor that holds the run. No other executor may use the run before the lease expires. */
  owner: string | null;
  lease_until: number | null;
};

export type RunFilter = { workflow?: string | undefined; status?: RunStatus | undefined; limit: number };

export interface RunReads {
  get(id: RunId): Promise<RunRow | null>;
  /** Newest first. */
  list(filter: RunFilter): Promise<RunRow[]>;
  /** Unfinished runs, oldest first. */
  unfinished(): Promise<RunRow[]>;
  /** Ids of runs with this suffix. */
  endingWith(text: string, limit: number): Promise<RunId[]>;
  /** The fields that a step checks before it writes. */
  hold(id: RunId): Promise<Pick<RunRow, "status" | "owner"> | null>;
}

export interface RunTable extends RunReads {
  insert(run: RunRow): Promise<void>;
  update(id: RunId, change: Partial<Omit<RunRow, "id" | "workflow" | "args" | "created_at">>): Promise<void>;
  /** Extends the lease of every run of this owner. */
  renew(owner: string, until: number): Promise<void>;
  /** Throws `conflict` if the run has already ended. */
  end(id: RunId, end: RunEnd): Promise<void>;
}

export type RunEnd = Pick<Run, "result" | "error"> & { status: "ok" | "error" | "cancelled"; at: number };

/** A step as stored. Epoch, scope, key and occurrence identify it within its run. */
export type StepRow = Step & {
  key: string;
  occurrence: number;
  /** JSON that was written at its start. */
  begun: string | null;
  /** JSON; null if the step returns nothing or has not succeeded. */
  result: string | null;
  /** JSON of the error that it ended with. */
  failure: string | null;
  /** A session that is closed when the run ends. */
  session: SessionId | null;
};

export type StepName = Pick<StepRow, "run" | "epoch" | "scope" | "key" | "occurrence">;

export type StepFilter = { status?: StepStatus; methods?: readonly string[]; limit?: number };

export interface StepReads {
  /** In the order in which they started. */
  list(run: RunId, filter?: StepFilter): Promise<StepRow[]>;
  countEnded(run: RunId): Promise<number>;
  /** The run whose step enqueued this task. */
  ofTask(task: TaskId): Promise<RunId | null>;
  /**
   * Sessions of the run in the order in which they started. `unshared` omits those that another unfinished run also
   * uses.
   */
  sessions(run: RunId, filter?: { unshared: boolean }): Promise<SessionId[]>;
  /** Open sessions of ended runs. */
  straySessions(): Promise<SessionId[]>;
}

export interface StepTable extends StepReads {
  /** Throws `conflict` if the step is already recorded. */
  insert(step: StepRow): Promise<void>;
  /** Ends a started step. Throws `conflict` if the step is not open. */
  end(name: StepName, end: StepEnd): Promise<void>;
  /** Deletes these steps. */
  remove(run: RunId, from: { epoch: number } | { names: readonly StepName[] }): Promise<void>;
  /** Copies the ended steps of the first epochs of one run to another. */
  copy(from: RunId, to: RunId, epochs: number): Promise<void>;
}

export type StepEnd = Pick<StepRow, "result" | "failure" | "error"> & {
  status: "ok" | "error";
  ended: number;
  at: number;
};

/** A signal sent to a run. It waits until the run receives one with its name. */
export type SignalRow = {
  run: RunId;
  /** An idempotency key, chosen by the sender. */
  key: string;
  name: string;
  /** JSON. */
  value: string;
};

export interface SignalReads {
  /** Signals with this name that were not received yet, oldest first. */
  waiting(run: RunId, name: string): Promise<SignalRow[]>;
}

export interface SignalTable extends SignalReads {
  /** Returns false if the key was used before. */
  add(signal: SignalRow): Promise<boolean>;
  take(run: RunId, key: string): Promise<void>;
}
