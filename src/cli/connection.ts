/** From a folder to a client of its daemon, which is started when the command needs one. */
import { type Client, createClient } from "../client/client.ts";
import { type DaemonFile, findProjectRoot, inspectDaemonFile } from "../lib/daemon-file.ts";
import { isErrno } from "../lib/files.ts";
import { packageVersion } from "../lib/version.ts";
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
