/** Child processes. The only module that starts and kills them: own process group, drained stderr, proven end. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import type { Readable, Writable } from "node:stream";
import type { Clock } from "./clock.ts";
import { isErrno } from "./files.ts";
import { errorText, type Logger } from "./log.ts";
import { createGroup } from "./process/group.ts";
import { createLedger, type Ledger } from "./process/ledger.ts";
import { readUntilGone, settledWithin } from "./process/pipes.ts";
import { endSurvivors, ownerVariable, type Survivor } from "./process/survivors.ts";
import { type ProcessTable, systemProcessTable } from "./process/table.ts";
import { createTail } from "./process/tail.ts";

export interface Processes {
  /**
   * Starts a child in a process group of its own and records it, so that the next daemon can end it if this one dies.
   * The group lives no longer than the child: what it leaves behind is ended with it.
   * Throws the system's error (`ENOENT`, `EACCES`, `ENOTDIR`) when it cannot be started.
   */
  start(command: Command): Promise<Child>;
  /** Ends what an earlier daemon of this project left running. */
  sweep(): Promise<Survivor[]>;
}

export type Command = { argv: readonly [string, ...string[]]; env: Record<string, string>; cwd: string };

export interface Child {
  readonly pid: number;
  /** Writing to a child that is gone is not an error: its end is told by `exited`. */
  readonly stdin: Writable;
  /** For one reader. Ends when the child's group is gone, also when a process outside it keeps the pipe open. */
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

export type { Survivor };

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

export type ProcessesOptions = {
  /** Where started children are recorded. */
  ledgerFile: string;
  /** Marks every child's environment. The same over restarts of one project's daemon, different between projects. */
  owner: string;
  clock: Clock;
  log: Logger;
};

const defaultGraceMs = 3000;
/** How long what a dead child wrote to stderr may take to arrive. */
const stderrFlushMs = 250;

type Spawned = ChildProcessByStdio<Writable, Readable, Readable>;

export function createProcesses(options: ProcessesOptions): Processes {
  const table = systemProcessTable();
  const ledger = createLedger(options.ledgerFile);
  const running = new Set<number>();

  return {
    async start(command) {
      const spawned = await startProcess(command, options, table, ledger);
      const { pid } = spawned;
      running.add(pid);
      return superviseChild(spawned.process, pid, table, options, () => running.delete(pid));
    },
    sweep: () => endSurvivors({ table, ledger, owner: options.owner, spare: running, log: options.log }),
  };
}

async function startProcess(
  command: Command,
  options: ProcessesOptions,
  table: ProcessTable,
  ledger: Ledger,
): Promise<{ process: Spawned; pid: number }> {
  const [file, ...args] = command.argv;
  const child = spawn(file, args, {
    cwd: command.cwd,
    env: { ...command.env, [ownerVariable]: options.owner },
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const { pid } = child;
  if (pid === undefined) throw await startError(child, command.cwd);
  for (const stream of [child.stdin, child.stdout, child.stderr]) {
    stream.on("error", (error) => options.log.debug("a child's pipe broke", { pid, error: errorText(error) }));
  }
  try {
    ledger.add({ pid, start: table.get(pid)?.start ?? null, command: command.argv.join(" ") });
  } catch (error) {
    options.log.warn("a child could not be recorded; it may outlive a crash", { pid, error: errorText(error) });
  }
  child.on("error", (error) => options.log.warn("a child reported an error", { pid, error: errorText(error) }));
  return { process: child, pid };
}

/** The system names the program also when it was the working folder that is missing. */
async function startError(child: Spawned, cwd: string): Promise<unknown> {
  const [error] = await once(child, "error");
  if (!isErrno(error, "ENOENT")) return error;
  return stat(cwd).then(
    () => error,
    (folderError: unknown) => folderError,
  );
}

function superviseChild(
  child: Spawned,
  pid: number,
  table: ProcessTable,
  { clock, log }: ProcessesOptions,
  onGone: () => void,
): Child {
  const stderr = createTail();
  const group = createGroup(pid, table);
  let active = clock.now();
  const touch = () => {
    active = clock.now();
  };

  child.stderr.on("data", (chunk: Buffer) => {
    touch();
    stderr.push(chunk);
  });
  const stderrClosed = new Promise<void>((resolve) => child.stderr.once("close", resolve));

  const exited = new Promise<Exit>((resolve) => {
    child.once("exit", (code, signal) => {
      void settledWithin(stderrClosed, stderrFlushMs).then(() => resolve({ code, signal }));
    });
  });
  const gone = new Promise<void>((resolve) => {
    child.once("exit", () => {
      // At once: as soon as the group is empty, the system may give its number to strangers.
      group
        .end(defaultGraceMs)
        .catch((error: unknown) => log.error("a child's group is still there", { pid, error: errorText(error) }))
        .then(async () => {
          onGone();
          await settledWithin(stderrClosed, stderrFlushMs);
          child.stderr.destroy();
          resolve();
        });
    });
  });

  return {
    pid,
    stdin: child.stdin,
    stdout: readUntilGone(child.stdout, gone, touch),
    stderrTail: () => stderr.text(),
    exited,
    lastActivity: () => active,
    async stop({ graceMs = defaultGraceMs } = {}) {
      await group.end(graceMs);
      await exited;
    },
  };
}
