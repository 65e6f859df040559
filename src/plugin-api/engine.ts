/**
 * What a workflow's body works with. Every method that has an effect is a step: its result is on record, and when the body
 * is called again after a stop it returns at once. All times are seconds.
 */
import type { GroupResult } from "../contract/group.ts";
import type { Json } from "../contract/run.ts";

export interface Engine<Config = Record<string, unknown>> {
  /** The workflow's name. */
  readonly name: string;
  /** The run's id. */
  readonly workflowId: string;
  /** The handle of the session the run works for, or null when a person started it. */
  readonly host: string | null;
  readonly callerHandle: string | null;
  /** The project's folder. */
  readonly projectRoot: string;
  /** What `configure` was given. */
  readonly config: Readonly<Config>;
  /** Aborts when the run is cancelled or Aegis stops. */
  readonly signal: AbortSignal;

  /** Starts a session of an agent and gives its handle. It is closed when the run ends, however it ends. */
  spawn(agent: string, options?: { alias?: string; handle?: string }): Promise<string>;
  /** Sends a message and waits for the whole reply to it. */
  send(handle: string, text: string, options?: { timeout?: number }): Promise<string>;
  /** Waits until a session has nothing left to do; all sessions of the run when none is named. */
  drain(handle?: string): Promise<void>;
  close(handle: string): Promise<void>;
  /** Gives a task to a queue and waits for its result. */
  delegate(queue: string, payload: string): Promise<string>;
  /** Gives a task to a queue and goes on; gives its id. */
  enqueue(queue: string, payload: string): Promise<string>;
  /** Asks a person and waits, over restarts as well; a week unless `timeout` says otherwise. */
  askHuman(question: string, options?: { options?: readonly string[]; timeout?: number }): Promise<string>;
  bash(command: string, options?: BashOptions): Promise<BashResult>;
  /**
   * Runs a command until it succeeds, at most `maxRetries` + 1 times. After each failure the host, or the session `to`
   * names, is sent `retryWith` and answers before the next try. Throws `PredicateFailed` in the end.
   */
  bashPredicate(command: string, options: PredicateOptions): Promise<BashResult>;
  /** Starts the branches in order and joins their results in order; the first failure cuts the others. */
  parallel<T>(branches: readonly ((() => Promise<T>) | Promise<T>)[]): Promise<T[]>;
  /** Remembers how far the run is. Throws `TypeError` when the payload is not JSON. */
  checkpoint(name: string, payload: unknown): Promise<void>;
  /** What the last checkpoint remembered, or null in a run that has passed none. */
  resumeState<T = Json>(): Promise<T | null>;
  sleep(seconds: number): Promise<void>;
  /** A line in the run's log, once. */
  log(record: unknown): void;
  /** Starts sessions as a group of the run's own; gives their handles. The group is dissolved when the run ends. */
  spawnGroup(name: string, agents: readonly string[] | { preset: string }): Promise<string[]>;
  /** Asks every member the same; gives the broadcast's id. */
  broadcast(group: string, brief: string | GroupBrief): Promise<string>;
  waitAll(group: string, options?: GroupWait): Promise<GroupResult>;
  /** Waits for the first good reply. */
  waitAny(group: string, options?: GroupWait): Promise<GroupResult>;
  /** Anything else whose result should be remembered. It may be performed twice when Aegis stops in the middle of it. */
  step<T>(name: string, work: () => T | Promise<T>, options?: { onUncertain?: OnUncertain }): Promise<T>;
}

/** What becomes of a step that was under way when Aegis stopped: it is done again, or fails. */
export type OnUncertain = "rerun" | "fail";

export type BashOptions = {
  /** Relative to the project's folder, which is the default. */
  cwd?: string;
  env?: Record<string, string>;
  /** After it everything the command started is ended, and the step fails. */
  timeout?: number;
  onUncertain?: OnUncertain;
};

export type BashResult = { exit: number; stdout: string; stderr: string };

export type PredicateOptions = BashOptions & {
  /** The feedback: a text with places for `{exit}`, `{stdout}` and `{stderr}`, or a function that makes one. */
  retryWith: string | ((result: BashResult) => string | Promise<string>);
  maxRetries?: number;
  /** Who gets the feedback instead of the host. */
  to?: string;
};

export type GroupBrief = { objective: string; outputFormat?: string; toolGuidance?: string; boundaries?: string };

export type GroupWait = { timeout?: number; reducer?: string };
