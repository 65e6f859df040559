/**
 * The context that the body of a workflow gets. Every method with a side effect is a step. Its result is recorded, and
 * a replay of the body after a restart returns the recorded result immediately. All times are in seconds.
 */
import type { GroupResult } from "@aegis/contract/group.ts";
import type { Json } from "@aegis/contract/run.ts";

export interface WorkflowContext<Config = Record<string, unknown>> {
  /** The workflow's name. */
  readonly name: string;
  /** The run's id. */
  readonly workflowId: string;
  /** The handle of the session that the run works for, or null if a person started it. */
  readonly host: string | null;
  readonly callerHandle: string | null;
  /** The project's folder. */
  readonly projectRoot: string;
  /** The values passed to `configure`. */
  readonly config: Readonly<Config>;
  /** Aborts when the run is cancelled or Aegis stops. */
  readonly signal: AbortSignal;

  /** Starts a session of an agent and returns its handle. The session is closed when the run ends. */
  spawn(agent: string, options?: { alias?: string; handle?: string }): Promise<string>;
  /**
   * Sends a message and waits for the whole reply to it. With a check, the daemon runs it in the session's working copy
   * when the session has answered. A failure goes back to the session; after the last retry the step throws
   * `PredicateFailed`.
   */
  send(handle: string, text: string, options?: { timeout?: number; check?: WorkCheck }): Promise<string>;
  /** Waits until a session has no pending work. Without a handle, waits for all sessions of the run. */
  drain(handle?: string): Promise<void>;
  close(handle: string): Promise<void>;
  /** Gives a task to a queue and waits for its result. */
  delegate(queue: string, payload: string, options?: WorkOptions): Promise<string>;
  /** Gives a task to a queue without waiting and returns its id. */
  enqueue(queue: string, payload: string, options?: WorkOptions): Promise<string>;
  /** Asks a person and waits, also across restarts. Default timeout: one week. */
  askHuman(question: string, options?: { options?: readonly string[]; timeout?: number }): Promise<string>;
  bash(command: string, options?: BashOptions): Promise<BashResult>;
  /**
   * Runs a command until it succeeds, at most `maxRetries` + 1 times. After each failure, sends `retryWith` to the
   * host, or to the session named by `to`, and waits for its answer before the next attempt. Throws `PredicateFailed`
   * after the last one.
   */
  bashPredicate(command: string, options: PredicateOptions): Promise<BashResult>;
  /** Starts the branches in order and returns their results in order. The first failure stops the other branches. */
  parallel<T>(branches: readonly ((() => Promise<T>) | Promise<T>)[]): Promise<T[]>;
  /** Records the progress of the run. Throws `TypeError` if the payload is not JSON. */
  checkpoint(name: string, payload: unknown): Promise<void>;
  /** Returns the payload of the last checkpoint, or null if the run has passed none. */
  resumeState<T = Json>(): Promise<T | null>;
  sleep(seconds: number): Promise<void>;
  /** Writes a line to the run's log. A replay does not write it again. */
  log(record: unknown): void;
  /**
   * Starts sessions as a group that belongs to the run and returns their handles. The group is deleted when the run
   * ends.
   */
  spawnGroup(name: string, agents: readonly string[] | { preset: string }): Promise<string[]>;
  /** Sends the same brief to every member and returns the broadcast's id. Throws `TypeError` for an unknown key. */
  broadcast(group: string, brief: string | GroupBrief): Promise<string>;
  waitAll(group: string, options?: GroupWait): Promise<GroupResult>;
  /** Waits for the first successful reply. */
  waitAny(group: string, options?: GroupWait): Promise<GroupResult>;
  /** Records the result of any other work. If Aegis stops in the middle of a step, it may be performed twice. */
  step<T>(name: string, work: () => T | Promise<T>, options?: { onUncertain?: OnUncertain }): Promise<T>;
}

/** @deprecated Use `WorkflowContext`. */
export type Engine<Config = Record<string, unknown>> = WorkflowContext<Config>;

/** A command that must succeed before work counts as done. Default: two retries, 600 seconds. */
export type WorkCheck = string | { command: string; max_retries?: number; timeout?: number };

export type WorkOptions = {
  /** Replaces no check of the queue: a queue that has one refuses it. */
  check?: WorkCheck;
};

/** What happens to a step that was in progress when Aegis stopped: it runs again, or fails. */
export type OnUncertain = "rerun" | "fail";

export type BashOptions = {
  /** Relative to the project's folder, which is the default. */
  cwd?: string;
  env?: Record<string, string>;
  /** After this time, the command and all its descendants are ended, and the step fails. */
  timeout?: number;
  onUncertain?: OnUncertain;
};

export type BashResult = { exit: number; stdout: string; stderr: string };

export type PredicateOptions = BashOptions & {
  /** The feedback: a text with the placeholders `{exit}`, `{stdout}` and `{stderr}`, or a function that returns one. */
  retryWith: string | ((result: BashResult) => string | Promise<string>);
  maxRetries?: number;
  /** The session that receives the feedback instead of the host. */
  to?: string;
};

/** Each part may use either of its two names. Any other key is refused. */
export type GroupBrief = {
  objective: string;
  outputFormat?: string;
  output_format?: string;
  toolGuidance?: string;
  tool_guidance?: string;
  boundaries?: string;
};

export type GroupWait = { timeout?: number; reducer?: string };
