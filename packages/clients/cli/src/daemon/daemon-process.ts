/** Starts the daemon as a separate process and sends it signals. */
import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:fs";
import { type FileHandle, open, rename, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { AegisError } from "@aegis/contract/errors.ts";
import { daemonLogPath } from "@aegis/lib/daemon-file.ts";
import { isErrno, makePrivateDir } from "@aegis/lib/files.ts";
import { withoutMarks } from "@aegis/lib/process/marks.ts";
import type { CliContext } from "../terminal/context.ts";

/** A log larger than this is rotated; the previous file is kept. */
const logMaxBytes = 10 * 1024 * 1024;

/** Options for starting a daemon; undefined options use the configuration. */
export type DaemonOptions = {
  agent: string | undefined;
  port: number | undefined;
  bind: string | undefined;
  allowRemote: boolean;
};

export const defaultDaemonOptions: DaemonOptions = {
  agent: undefined,
  port: undefined,
  bind: undefined,
  allowRemote: false,
};

export type BackgroundDaemon = {
  pid: number;
  /** The offset in the log where this start begins. */
  logOffset: number;
  /** Set once the process has exited. */
  exit(): { code: number | null } | null;
};

/** Starts a daemon that outlives this process and writes to the project's log. */
export async function startBackgroundDaemon(
  root: string,
  env: CliContext["env"],
  options: DaemonOptions,
): Promise<BackgroundDaemon> {
  const { containedStateDir } = await import("@aegis/project/state/folder.ts");
  await makePrivateDir(await containedStateDir(root));
  const path = daemonLogPath(root);
  const logOffset = await rotate(path);
  const log = await openLog(path);
  try {
    const child = spawn(process.execPath, argumentsFor(root, options), {
      cwd: root,
      // An agent may run this command; the daemon must not end with that agent's session.
      env: { ...memoryVariables, ...withoutMarks(env) },
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
    });
    let exit: { code: number | null } | null = null;
    child.once("exit", (code) => {
      exit = { code };
    });
    await spawned(child);
    child.unref();
    return { pid: child.pid ?? 0, logOffset, exit: () => exit };
  } finally {
    await log.close();
  }
}

export type ForegroundDaemon = {
  output: AsyncIterable<Uint8Array>;
  exited: Promise<number>;
  stop(): void;
};

/** Starts a daemon as a child of this process: its log is piped back, and a signal ends it. */
export async function startForegroundDaemon(
  root: string,
  env: CliContext["env"],
  options: DaemonOptions,
): Promise<ForegroundDaemon> {
  // Its log shows that it waits, and a signal ends it.
  const child = spawn(process.execPath, [...argumentsFor(root, options), "--patient"], {
    cwd: root,
    env: { ...memoryVariables, ...withoutMarks(env) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = new Promise<number>((resolve) => {
    child.once("close", (code) => resolve(code ?? 1));
  });
  await spawned(child);
  return { output: child.stdout, exited, stop: () => void child.kill("SIGTERM") };
}

/** Returns false if there is no such process. */
export function signalProcess(pid: number, signal: "SIGTERM" | "SIGKILL" | "SIGSTOP" | "SIGCONT"): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (isErrno(error, "ESRCH")) return false;
    throw error;
  }
}

/**
 * Keeps Node's warnings about features that Aegis uses on purpose out of the log. A daemon mostly waits, so its heap
 * is limited; `packages/daemon/daemon/src/heap-mode.ts` lets it grow under load and shrink at rest.
 */
export const nodeOptions: readonly string[] = [
  "--disable-warning=ExperimentalWarning",
  // Needed before the daemon can install its own signal listener.
  "--disable-sigusr1",
  "--max-semi-space-size=16",
  "--max-opt=2",
  // One helper thread for garbage collection and compilation: each thread has memory of its own.
  "--v8-pool-size=1",
];

/** With glibc, threads share one heap for native memory instead of keeping freed memory in a heap of their own. */
const memoryVariables = { MALLOC_ARENA_MAX: "1" };

function argumentsFor(root: string, options: DaemonOptions): string[] {
  const { agent, port, bind, allowRemote } = options;
  return [
    ...nodeOptions,
    daemonEntry(),
    "--project",
    root,
    ...(agent === undefined ? [] : ["--agent", agent]),
    ...(port === undefined ? [] : ["--port", String(port)]),
    ...(bind === undefined ? [] : ["--bind", bind]),
    ...(allowRemote ? ["--allow-remote"] : []),
  ];
}

function daemonEntry(): string {
  const entry = import.meta.url.endsWith(".ts") ? "../../../../daemon/daemon/src/main.ts" : "./daemon.js";
  return fileURLToPath(new URL(entry, import.meta.url));
}

function spawned(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
}

/** The folder may come from a third party, so the log is never written through a link. */
async function openLog(path: string): Promise<FileHandle> {
  try {
    return await open(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  } catch (error) {
    if (!isErrno(error, "ELOOP")) throw error;
    throw new AegisError("unavailable", `${path} is a link, and Aegis does not write through links`, {
      hint: "remove the link, or move the whole folder aside with: aegis state set-aside",
      cause: error,
    });
  }
}

/** Rotates a log that is too large. Returns the size of the file that is written next. */
async function rotate(path: string): Promise<number> {
  try {
    const { size } = await stat(path);
    if (size < logMaxBytes) return size;
    await rename(path, `${path}.1`);
    return 0;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return 0;
    throw error;
  }
}
