/**
 * Starts and stops child processes. No other module does. Each child has its own process group, its stderr is drained,
 * and `stop` verifies that it is gone.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { Server } from "node:net";
import { type Readable, Writable } from "node:stream";
import type { Clock } from "./clock.ts";
import { Consent } from "./consent.ts";
import { isErrno } from "./files.ts";
import { errorText, type Logger } from "./log.ts";
import { endProcesses } from "./process/ending.ts";
import { createFamilies, descendants, type Families } from "./process/family.ts";
import { createGroup } from "./process/group.ts";
import { createLedger, type Ledger } from "./process/ledger.ts";
import { childVariable, ownerVariable } from "./process/marks.ts";
import { createTail, readUntilGone, settledWithin } from "./process/pipes.ts";
import { endOrphans, endSurvivors, findLeftovers, type Leftover, type Survivor } from "./process/survivors.ts";
import { type ProcessTable, systemProcessTable } from "./process/table.ts";

export interface Processes {
  /**
   * Starts a child in its own process group and records it, so that the next daemon can end it if this one dies. When
   * the child ends, all its descendants end too: its group at once, processes outside it soon after. Throws the
   * system's error (`ENOENT`, `EACCES`, `ENOTDIR`) if the child cannot start. The consent is spent in any case; another
   * attempt needs a new one.
   */
  start(command: Command, consent: Consent): Promise<Child>;
  /**
   * For processes that other code starts, such as plugin code: they must start with this environment, and `end` ends
   * them all.
   */
  mark(): { env: Record<string, string>; end(): Promise<void> };
  /** Ends the processes that an earlier daemon of this project left running. */
  sweep(): Promise<Survivor[]>;
  /** Returns processes that outlived the child that started them, or the daemon. For callers outside the daemon. */
  leftovers(options: { daemonRuns: boolean }): Promise<Leftover[]>;
  endLeftovers(options: { daemonRuns: boolean }): Promise<Survivor[]>;
  /** Ends every child and all descendants. `below` also includes every process below this one. */
  close(options?: { below: boolean }): Promise<void>;
}

export type Command = {
  argv: readonly [string, ...string[]];
  env: Record<string, string>;
  cwd: string;
  /** For a program that confines another one; see `@aegis/sandbox`. */
  launch?: Launch;
};

/** What the started program gets beside its three streams: a channel on descriptor 3, and `input` on descriptor 4. */
export type Launch = {
  input: Uint8Array;
  /** Receives each listener that the program hands over, with its port. */
  onListener: (port: number, listener: Server) => void;
  /** Called when the program has ended or could not start. */
  onEnd: () => void;
};

export interface Child {
  readonly pid: number;
  /** Writing to a child that has ended is not an error; `exited` reports its end. */
  readonly stdin: Writable;
  /**
   * For one reader. Ends when the child's process group is gone, even if a process outside the group keeps the pipe
   * open.
   */
  readonly stdout: AsyncIterable<Uint8Array>;
  /** The last lines of stderr. Stderr is always drained. */
  stderrTail(): string;
  /** Never rejects. */
  readonly exited: Promise<Exit>;
  /** When the child last wrote a byte, by the given clock. */
  lastActivity(): number;
  /**
   * Sends SIGTERM to the child and all descendants, and SIGKILL after the grace period. Resolves when none is left. If
   * the child has already ended, resolves when its group is gone.
   */
  stop(options?: { graceMs?: number }): Promise<void>;
}

export type { Survivor };

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

export type ProcessesOptions = {
  /** The file that records started children, in a folder that exists; null records none. */
  ledgerFile: string | null;
  /** Marks every child's environment. Stable across restarts of one project's daemon, different between projects. */
  owner: string;
  clock: Clock;
  log: Logger;
};

const defaultGraceMs = 3000;
/** How long to wait for the remaining stderr output of a child that has ended. */
const stderrFlushMs = 250;

type Started = { process: Spawned; pid: number; began: number };

type Spawned = ChildProcess & { stdin: Writable; stdout: Readable; stderr: Readable };

/** The maximum grace period when the daemon closes. */
const closeGraceMs = 1000;

export function createProcesses(options: ProcessesOptions): Processes {
  const { owner, log } = options;
  const table = systemProcessTable();
  const ledger = createLedger(options.ledgerFile);
  const families = createFamilies(table, log);
  const running = new Map<string, Child>();
  const survivors = () => {
    const spare = new Map([...running].map(([id, { pid }]) => [id, pid]));
    return { table, ledger, owner, spare, log };
  };

  return {
    async start(command, consent) {
      Consent.spend(consent);
      const id = newMark();
      const spawned = await startProcess(command, id, options, table, ledger);
      const child = superviseChild(spawned, { id, table, families, options, onGone: () => running.delete(id) });
      running.set(id, child);
      return child;
    },
    mark() {
      const id = newMark();
      const began = table.get(process.pid)?.began ?? 0;
      return {
        env: { [ownerVariable]: owner, [childVariable]: id },
        async end() {
          families.collectSoon({ id, began });
          await families.settle(closeGraceMs);
        },
      };
    },
    sweep: () => endSurvivors(survivors()),
    leftovers: ({ daemonRuns }) => findLeftovers({ table, ledger, owner }, daemonRuns),
    endLeftovers: ({ daemonRuns }) =>
      daemonRuns ? endOrphans({ table, ledger, owner }, log) : endSurvivors(survivors()),
    async close({ below } = { below: false }) {
      await Promise.allSettled([...running.values()].map((child) => child.stop({ graceMs: closeGraceMs })));
      await families.settle(closeGraceMs);
      // A full disk or a missing folder must not prevent the daemon from ending the rest.
      const swept = await endSurvivors({ ...survivors(), spare: new Map() }, closeGraceMs).catch((error: unknown) => {
        log.warn("what was left behind could not be recorded", { error: errorText(error) });
        return [];
      });
      const killAt = performance.now() + closeGraceMs;
      const find = () => (below ? descendants(table.list(), process.pid) : []);
      const others = await endProcesses(find, { table, log, killAt: () => killAt });
      const ended = [...swept, ...others].map(({ pid, command }) => ({ pid, command }));
      if (ended.length > 0) log.info("killed processes that were left behind", { processes: ended });
    },
  };
}

function newMark(): string {
  return randomBytes(12).toString("hex");
}

async function startProcess(
  command: Command,
  id: string,
  options: ProcessesOptions,
  table: ProcessTable,
  ledger: Ledger,
): Promise<Started> {
  const [file, ...args] = command.argv;
  const { launch } = command;
  const channel =
    launch === undefined ? [] : launch.onListener === null ? ["pipe" as const] : ["ipc" as const, "pipe" as const];
  const child = spawn(file, args, {
    cwd: command.cwd,
    env: { ...command.env, [ownerVariable]: options.owner, [childVariable]: id },
    detached: true,
    stdio: ["pipe", "pipe", "pipe", ...channel],
  }) as Spawned;
  if (launch !== undefined) serveLaunch(child, launch, options.log);
  const { pid } = child;
  if (pid === undefined) throw await startError(child, command.cwd);
  for (const stream of [child.stdin, child.stdout, child.stderr]) {
    stream.on("error", (error) => options.log.debug("a child's pipe broke", { pid, error: errorText(error) }));
  }
  const info = table.get(pid);
  try {
    ledger.add({ pid, start: info?.start ?? null, child: id, command: command.argv.join(" ") });
  } catch (error) {
    options.log.warn("a child could not be recorded; it may outlive a crash", { pid, error: errorText(error) });
  }
  child.on("error", (error) => options.log.warn("a child reported an error", { pid, error: errorText(error) }));
  return { process: child, pid, began: info?.began ?? 0 };
}

function serveLaunch(child: Spawned, launch: Launch, log: Logger): void {
  const input = child.stdio[4];
  if (input instanceof Writable) {
    input.on("error", (error) => log.debug("a launcher did not read its input", { error: errorText(error) }));
    input.end(launch.input);
  }
  child.on("message", (message, handle) => {
    const port = typeof message === "object" && message !== null && "port" in message ? message.port : null;
    if (handle instanceof Server && typeof port === "number") launch.onListener(port, handle);
  });
  child.once("exit", launch.onEnd);
  child.once("error", launch.onEnd);
}

/** The system also names the program if the working folder is what is missing. */
async function startError(child: Spawned, cwd: string): Promise<unknown> {
  const [error] = await once(child, "error");
  if (!isErrno(error, "ENOENT")) return error;
  return stat(cwd).then(
    () => error,
    (folderError: unknown) => folderError,
  );
}

type Supervision = {
  id: string;
  table: ProcessTable;
  families: Families;
  options: ProcessesOptions;
  onGone: () => void;
};

function superviseChild(
  { process: child, pid, began }: Started,
  { id, table, families, options: { clock, log }, onGone }: Supervision,
): Child {
  const stderr = createTail();
  const group = createGroup(pid, table);
  const family = families.add({ id, pid, began });
  let stopping: Promise<void> | null = null;
  let hasExited = false;
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
      hasExited = true;
      if (stopping === null) families.collectSoon({ id, began });
      // Immediately: once the group is empty, the system may reuse its id.
      group
        .end(defaultGraceMs)
        .catch((error: unknown) =>
          log.error("a child's process group is still alive", { pid, error: errorText(error) }),
        )
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
      // Before the group gets a signal: a process that left the group can also be found by its parent while the parent
      // lives.
      const { promise: groupGone, resolve } = Promise.withResolvers<void>();
      if (!hasExited || stopping !== null) stopping = family.end(graceMs, groupGone);
      await group.end(graceMs).finally(resolve);
      await Promise.all([stopping, exited]);
    },
  };
}
