/** Finds the daemon of a folder and creates its client. Starts the daemon if the command needs one. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@aegis/client/client.ts";
import { clientFollowing } from "@aegis/client/project/following.ts";
import { type Clock, systemClock } from "@aegis/lib/clock.ts";
import {
  configFileName,
  type DaemonFile,
  findProjectRoot,
  inspectDaemonFile,
  storePath,
} from "@aegis/lib/daemon-file.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { packageVersion } from "@aegis/lib/version.ts";
import type { CliContext } from "../terminal/context.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { DaemonOptions } from "./daemon-process.ts";

export type Connection = {
  root: string;
  daemon: DaemonFile;
  client: Client;
  /** True if this command started the daemon. */
  started: boolean;
};

/** The project's daemon, if one runs. */
export async function findDaemon(cx: CliContext): Promise<Connection | null> {
  const root = findProjectRoot(cx.cwd);
  const found = await inspectDaemonFile(root, homeOf(cx.env));
  return found.state === "live" ? connected(cx, root, found.file, false) : null;
}

/** Printed by commands that have nothing to show outside a project. */
export const noProject = "No project here, so no daemon was started. Create one with: aegis init, or aegis chat";

/** Like `ensureDaemon`, but null in a folder without a project. */
export async function ensureProjectDaemon(cx: CliContext): Promise<Connection | null> {
  const root = findProjectRoot(cx.cwd);
  return existsSync(join(root, configFileName)) || existsSync(storePath(root)) ? ensureDaemon(cx) : findDaemon(cx);
}

/** The project's daemon; starts one if none runs. */
export async function ensureDaemon(cx: CliContext, options?: DaemonOptions): Promise<Connection> {
  const existing = await findDaemon(cx);
  if (existing !== null) return existing;
  const { startDaemon } = await import("./start-daemon.ts");
  const root = findProjectRoot(cx.cwd);
  const { file, own } = await startDaemon(cx, root, options);
  return connected(cx, root, file, own);
}

function connected(cx: CliContext, root: string, daemon: DaemonFile, started: boolean): Connection {
  const version = packageVersion();
  if (daemon.version !== version) {
    cx.warn(`aegis: the running daemon is version ${daemon.version}, this command is ${version}`);
    cx.warn("  restart it with: aegis down && aegis up");
  }
  return { root, daemon, client: patientClient(cx, root, daemon), started };
}

/** Waits as long as the daemon needs, and says so when the daemon does not answer at all. */
function patientClient(cx: CliContext, root: string, daemon: DaemonFile): Client {
  const client = clientFollowing(root, daemon, homeOf(cx.env));
  return reportingSilence(client, {
    probe: (signal) => client.call("health", { signal }),
    clock: systemClock,
    report(seconds) {
      cx.warn(`aegis: the daemon (pid ${daemon.pid}) has not answered for ${seconds} s`);
      cx.warn("  wait for it, or kill it with: aegis down --force");
    },
  });
}

/** Some calls take long in a healthy daemon, so another call decides whether it is one. */
const silentMs = 10_000;
const probeMs = 5_000;

type SilenceOptions = {
  /** Asks for anything that a healthy daemon answers immediately. */
  probe: (signal: AbortSignal) => Promise<unknown>;
  /** Called at most once, with the seconds that passed without an answer. */
  report: (seconds: number) => void;
  clock: Pick<Clock, "sleep">;
};

/**
 * The same client. A call that waits for more than ten seconds makes it check whether the daemon answers at all: its
 * process may be stopped or blocked.
 */
export function reportingSilence(client: Client, { probe, report, clock }: SilenceOptions): Client {
  let isReported = false;
  const check = async (answered: AbortSignal) => {
    await clock.sleep(silentMs, answered);
    const late = clock.sleep(probeMs, answered).then(() => true);
    const isSilent = await Promise.race([late, probe(answered).then(() => false)]);
    if (!isSilent || isReported || answered.aborted) return;
    isReported = true;
    report((silentMs + probeMs) / 1_000);
  };
  const watched = async <T>(request: Promise<T>): Promise<T> => {
    const answered = new AbortController();
    // It rejects when the answer is there, or when the daemon is gone, which the request says itself.
    check(answered.signal).catch(() => {});
    try {
      return await request;
    } finally {
      answered.abort();
    }
  };
  return {
    url: client.url,
    call: (name, ...input) => watched(client.call(name, ...input)),
    open: (name, ...input) => watched(client.open(name, ...input)),
  };
}

/**
 * Makes a running daemon apply a change immediately, because it might notice only after the user's next command.
 */
export async function tellDaemon(cx: Terminal): Promise<void> {
  const running = await findDaemon(cx);
  await running?.client.call("reloadPlugins", { body: {} }).catch(() => {});
}
