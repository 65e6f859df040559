/** Starts the daemon as a process of its own, and signals it. */
import { type ChildProcess, spawn } from "node:child_process";
import { open, rename, stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { daemonLogPath, stateDir } from "../lib/daemon-file.ts";
import { isErrno, makePrivateDir } from "../lib/files.ts";
import { ownerVariable } from "../lib/process/survivors.ts";
import type { CliContext } from "./context.ts";

/** The log starts afresh in a new file past this size; the one before is kept. */
const logMaxBytes = 10 * 1024 * 1024;

/** How a daemon is to be started; what is undefined is left to the configuration. */
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
  /** Where this start begins in the log. */
  logOffset: number;
  /** Set once the process is gone. */
  exit(): { code: number | null } | null;
};

/** A daemon that outlives this process, with its output in the project's log. */
export async function startBackgroundDaemon(
  root: string,
  env: CliContext["env"],
  options: DaemonOptions,
): Promise<BackgroundDaemon> {
  await makePrivateDir(stateDir(root));
  const path = daemonLogPath(root);
  const logOffset = await rotate(path);
  const log = await open(path, "a", 0o600);
  try {
    const child = spawn(process.execPath, argumentsFor(root, options), {
      cwd: root,
      env: daemonEnv(env),
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

/** A daemon below this process: its log comes back as output, and it ends with a signal to it. */
export async function startForegroundDaemon(
  root: string,
  env: CliContext["env"],
  options: DaemonOptions,
): Promise<ForegroundDaemon> {
  const child = spawn(process.execPath, argumentsFor(root, options), {
    cwd: root,
    env: daemonEnv(env),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = new Promise<number>((resolve) => {
    child.once("close", (code) => resolve(code ?? 1));
  });
  await spawned(child);
  return { output: child.stdout, exited, stop: () => void child.kill("SIGTERM") };
}

/** False when there is no such process. */
export function signalProcess(pid: number, signal: "SIGTERM" | "SIGKILL"): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (isErrno(error, "ESRCH")) return false;
    throw error;
  }
}

/**
 * The log must hold the daemon's words, not Node's about features this project uses on purpose. A daemon mostly waits,
 * so that memory given back is worth more than the last bit of speed.
 */
const nodeOptions = [
  "--disable-warning=ExperimentalWarning",
  "--max-semi-space-size=2",
  "--optimize-for-size",
  "--max-opt=2",
];

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
  const entry = import.meta.url.endsWith(".ts") ? "../daemon/main.ts" : "./daemon.js";
  return fileURLToPath(new URL(entry, import.meta.url));
}

/** A daemon started by an agent of another project must not pass for a process of that project. */
function daemonEnv(env: CliContext["env"]): NodeJS.ProcessEnv {
  const { [ownerVariable]: _, ...rest } = env;
  return rest;
}

function spawned(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
}

/** Moves a log that has grown too large aside. Gives the size of the one that is written next. */
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
