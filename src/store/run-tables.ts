/** The part of the store port that keeps runs of workflows, their steps and signals. */
import type { RunId, SessionId } from "../contract/ids.ts";
import type { Run, RunStatus, Step, StepStatus } from "../contract/run.ts";

/** A run as stored: what clients see, and who executes it. */
export type RunRow = Run & {
  /** The executor that has it now; nobody else touches it before its lease is over. */
  owner: string | null;
  lease_until: number | null;
};

export type RunFilter = { workflow?: string | undefined; status?: RunStatus | undefined; limit: number };

export interface RunReads {
  get(id: RunId): Promise<RunRow | null>;
  /** Newest first. */
  list(filter: RunFilter): Promise<RunRow[]>;
  /** Runs without an end, oldest first. */
  unfinished(): Promise<RunRow[]>;
  /** Ids of runs that end with these characters. */
  endingWith(text: string, limit: number): Promise<RunId[]>;
  /** What a step must still find before it writes. */
  hold(id: RunId): Promise<Pick<RunRow, "status" | "owner"> | null>;
}

export interface RunTable extends RunReads {
  insert(run: RunRow): Promise<void>;
  update(id: RunId, change: Partial<Omit<RunRow, "id" | "workflow" | "args" | "created_at">>): Promise<void>;
  /** Puts the end of the lease of every run this owner has. */
  renew(owner: string, until: number): Promise<void>;
  /** Throws `conflict` when it has ended before. */
  end(id: RunId, end: RunEnd): Promise<void>;
}

export type RunEnd = Pick<Run, "result" | "error"> & { status: "ok" | "error" | "cancelled"; at: number };

/** A step as stored. Epoch, scope, key and occurrence name it within its run. */
export type StepRow = Step & {
  key: string;
  occurrence: number;
  /** JSON that was written with its beginning. */
  begun: string | null;
  /** JSON; null for a step that gives nothing, or none that has ended well. */
  result: string | null;
  /** JSON of the error it ended with. */
  failure: string | null;
  /** A session that lives no longer than the run. */
  session: SessionId | null;
};

export type StepName = Pick<StepRow, "run" | "epoch" | "scope" | "key" | "occurrence">;

export type StepFilter = { status?: StepStatus; methods?: readonly string[]; limit?: number };

export interface StepReads {
  /** In the order they were begun. */
  list(run: RunId, filter?: StepFilter): Promise<StepRow[]>;
  countEnded(run: RunId): Promise<number>;
  /** Sessions of the run, in the order they were started; without those that another run, still under way, has as well. */
  sessions(run: RunId, filter?: { unshared: boolean }): Promise<SessionId[]>;
  /** Open sessions of runs that have ended. */
  straySessions(): Promise<SessionId[]>;
}

export interface StepTable extends StepReads {
  /** Throws `conflict` when it is on record. */
  insert(step: StepRow): Promise<void>;
  /** Ends a step that was begun. Throws `conflict` when none is. */
  end(name: StepName, end: StepEnd): Promise<void>;
  /** Forgets these steps. */
  remove(run: RunId, from: { epoch: number } | { names: readonly StepName[] }): Promise<void>;
  /** The ended steps of the first epochs of one run become steps of another. */
  copy(from: RunId, to: RunId, epochs: number): Promise<void>;
}

export type StepEnd = Pick<StepRow, "result" | "failure" | "error"> & {
  status: "ok" | "error";
  ended: number;
  at: number;
};

/** Something told to a run from outside. It waits until the run asks for one of its name. */
export type SignalRow = {
  run: RunId;
  /** Chosen by the sender: the same key twice adds one signal only. */
  key: string;
  name: string;
  /** JSON. */
  value: string;
};

export interface SignalReads {
  /** Those of the name that were not taken, oldest first. */
  waiting(run: RunId, name: string): Promise<SignalRow[]>;
}

export interface SignalTable extends SignalReads {
  /** False when the key was used before. */
  add(signal: SignalRow): Promise<boolean>;
  take(run: RunId, key: string): Promise<void>;
}
