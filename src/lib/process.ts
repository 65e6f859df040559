/** Child processes. The only module that starts and kills them: own process group, drained stderr, proven end. */
import type { Writable } from "node:stream";

export interface Processes {
  /**
   * Starts a child in a process group of its own and records it, so that the next daemon can end it if this one dies.
   * Throws the system's error (`ENOENT`, `EACCES`) when it cannot be started.
   */
  start(command: Command): Promise<Child>;
  /** Ends what an earlier daemon of this project left running. */
  sweep(): Promise<Survivor[]>;
}

export type Command = { argv: readonly [string, ...string[]]; env: Record<string, string>; cwd: string };

export interface Child {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: AsyncIterable<Uint8Array>;
  /** The last lines of stderr, which is always drained. */
  stderrTail(): string;
  /** Never rejects. */
  readonly exited: Promise<Exit>;
  /** When the child last wrote a byte, by the clock given. */
  lastActivity(): number;
  /** SIGTERM to the group, SIGKILL after the grace; resolves when no process of the group is left. */
  stop(options?: { graceMs?: number }): Promise<void>;
}

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

export type Survivor = { pid: number; command: string; killed: boolean };
