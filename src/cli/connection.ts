/** From a folder to a client of its daemon, which is started when the command needs one. */
import { type Client, createClient } from "../client/client.ts";
import { type DaemonFile, findProjectRoot, inspectDaemonFile } from "../lib/daemon-file.ts";
import { packageVersion } from "../lib/version.ts";
import { clientFollowing } from "../local/following.ts";
import type { CliContext } from "./context.ts";
import type { DaemonOptions } from "./daemon-process.ts";

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
  const { startDaemon } = await import("./start-daemon.ts");
  const root = findProjectRoot(cx.cwd);
  const { file, own } = await startDaemon(cx, root, options);
  return connected(cx, root, file, { started: own });
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
  const { send } = options;
  const client =
    send === undefined
      ? clientFollowing(root, daemon)
      : createClient({ url: daemon.url, token: daemon.token, fetch: send });
  return { root, daemon, client, started: options.started };
}
