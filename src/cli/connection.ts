/** From a folder to a client of its daemon, which is started when the command needs one. */
import { open } from "node:fs/promises";
import { type Client, createClient } from "../client/client.ts";
import { systemClock } from "../lib/clock.ts";
import { type DaemonFile, daemonLogPath, findProjectRoot, inspectDaemonFile } from "../lib/daemon-file.ts";
import { isErrno } from "../lib/files.ts";
import { packageVersion } from "../lib/version.ts";
import { type CliContext, exitCodes } from "./context.ts";
import type { DaemonOptions } from "./daemon-process.ts";
import { CliError } from "./failure.ts";

export type Connection = {
  root: string;
  daemon: DaemonFile;
  client: Client;
  /** True when this command brought the daemon up. */
  started: boolean;
};

/** The daemon of the project, if one runs. `send` is for a command that makes one quick call. */
export async function findDaemon(cx: CliContext, send?: typeof fetch): Promise<Connection | null> {
  const root = findProjectRoot(cx.cwd);
  const found = await inspectDaemonFile(root);
  return found.state === "live" ? connected(cx, root, found.file, { started: false, send }) : null;
}

/** The daemon of the project, started if there is none. */
export async function ensureDaemon(cx: CliContext, options?: DaemonOptions): Promise<Connection> {
  const existing = await findDaemon(cx);
  if (existing !== null) return existing;
  const root = findProjectRoot(cx.cwd);
  return connected(cx, root, await startDaemon(cx, root, options), { started: true });
}

const startDeadlineMs = 30_000;
const pollMs = 20;
/** A start that takes longer than this is worth a word. */
const quietMs = 400;
/** How long a daemon that lost the race for a project waits for the winner to listen. */
const raceMs = 5_000;

/** Starts a daemon and waits until it answers. */
export async function startDaemon(cx: CliContext, root: string, options?: DaemonOptions): Promise<DaemonFile> {
  const { defaultDaemonOptions, projectTaken, startBackgroundDaemon } = await import("./daemon-process.ts");
  const child = await startBackgroundDaemon(root, cx.env, options ?? defaultDaemonOptions);
  const begun = systemClock.now();
  let told = false;
  let deadline = begun + startDeadlineMs;
  let gone = false;
  while (true) {
    const found = await inspectDaemonFile(root);
    if (found.state === "live" && (await answers(found.file))) return found.file;
    const now = systemClock.now();
    const exit = child.exit();
    if (exit !== null && !gone) {
      gone = true;
      if (exit.code !== projectTaken)
        throw await startFailure(root, child.logOffset, `the daemon could not start (exit code ${exit.code})`);
      // Another command was quicker: its daemon is about to listen.
      deadline = Math.min(deadline, now + raceMs);
    }
    if (now > deadline) {
      const seconds = Math.round((now - begun) / 1000);
      throw await startFailure(root, child.logOffset, `the daemon did not answer within ${seconds} s`);
    }
    if (!told && now - begun > quietMs && cx.interactive) {
      told = true;
      cx.warn("starting the daemon …");
    }
    await systemClock.sleep(pollMs);
  }
}

function connected(
  cx: CliContext,
  root: string,
  daemon: DaemonFile,
  options: { started: boolean; send?: typeof fetch | undefined },
): Connection {
  const version = packageVersion();
  if (daemon.version !== version) {
    cx.warn(`aegis: the running daemon is version ${daemon.version}, this command is ${version}`);
    cx.warn("  restart it with: aegis down && aegis up");
  }
  const send = options.send ?? fetchFollowing(root, daemon);
  const client = createClient({ url: daemon.url, token: daemon.token, fetch: send });
  return { root, daemon, client, started: options.started };
}

/** A daemon that was restarted listens elsewhere with another token: a long-running command finds it again. */
function fetchFollowing(root: string, daemon: DaemonFile): typeof fetch {
  let current = daemon;
  const send = (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
    const url = String(input).replace(daemon.url, current.url);
    return fetch(url, { ...init, headers: { ...init?.headers, authorization: `Bearer ${current.token}` } });
  };
  return async (input, init) => {
    try {
      return await send(input, init);
    } catch (error) {
      // Only a request that was certainly not received may be sent again.
      if (!wasRefused(error)) throw error;
      const found = await inspectDaemonFile(root);
      if (found.state !== "live" || found.file.id === current.id) throw error;
      current = found.file;
      return send(input, init);
    }
  };
}

function wasRefused(error: unknown): boolean {
  return error instanceof Error && isErrno(error.cause, "ECONNREFUSED");
}

async function answers(daemon: DaemonFile): Promise<boolean> {
  try {
    await createClient({ url: daemon.url, token: daemon.token }).call("health", { signal: AbortSignal.timeout(2_000) });
    return true;
  } catch {
    return false;
  }
}

async function startFailure(root: string, logOffset: number, message: string): Promise<CliError> {
  const { logProblem } = await import("./format/log-line.ts");
  const path = daemonLogPath(root);
  const problems = (await linesFrom(path, logOffset)).map(logProblem).filter((line) => line !== null);
  const tail = problems.slice(-8);
  return new CliError(exitCodes.noDaemon, [message, ...tail.map((line) => `  ${line}`)].join("\n"), {
    hint: `the whole log: ${path}`,
  });
}

async function linesFrom(path: string, offset: number): Promise<string[]> {
  const file = await open(path, "r").catch(() => null);
  if (file === null) return [];
  try {
    const { size } = await file.stat();
    const length = Math.min(Math.max(0, size - offset), 256 * 1024);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString("utf8", 0, bytesRead).split("\n");
  } finally {
    await file.close();
  }
}
