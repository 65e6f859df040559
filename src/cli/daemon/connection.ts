/** Finds the daemon of a folder and creates its client. Starts the daemon if the command needs one. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "../../client/client.ts";
import { clientFollowing } from "../../client/project/following.ts";
import { systemClock } from "../../lib/clock.ts";
import {
  configFileName,
  type DaemonFile,
  findProjectRoot,
  inspectDaemonFile,
  storePath,
} from "../../lib/daemon-file.ts";
import { homeOf } from "../../lib/home.ts";
import { packageVersion } from "../../lib/version.ts";
import type { CliContext } from "../terminal/context.ts";
import type { DaemonOptions } from "./daemon-process.ts";
import { reportingSilence } from "./silence.ts";

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
      cx.warn("  wait for it, or end it with: aegis down --force");
    },
  });
}
