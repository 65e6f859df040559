/** Finds the daemon of a folder on this machine, or starts it. */
import { AegisError } from "@aegis/contract/errors.ts";
import { findProjectRoot, inspectDaemonFile } from "@aegis/lib/daemon-file.ts";
import { homeOf, userHome } from "@aegis/lib/home.ts";
import type { Client } from "../client.ts";
import { clientFollowing } from "./following.ts";
import { startDaemon } from "./start-daemon.ts";

export type ConnectOptions = {
  /** Starts the daemon with `aegis up` if it is not running. Default: false. */
  start?: boolean | undefined;
  /**
   * The environment of the daemon's user; default: the environment of this process. `HOME` names the home folder. A
   * daemon that is started receives the whole environment.
   */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Aborts the wait for a daemon that is starting. */
  signal?: AbortSignal | undefined;
};

/**
 * Connects to the daemon of a folder. The client reconnects after a restart of the daemon. It talks only to a daemon
 * that the same user started. Throws `AegisError` with the code `unavailable` if no daemon is running and none can start.
 *
 * @param folder - a folder of the project; default: the current folder
 * @example
 * ```ts
 * import { connect } from "aegis/client";
 *
 * const client = await connect(process.cwd(), { start: true });
 * const { version, default_agent } = await client.call("status");
 * ```
 */
export async function connect(folder: string = process.cwd(), options: ConnectOptions = {}): Promise<Client> {
  const { start = false, env, signal } = options;
  const home = env === undefined ? userHome() : homeOf(env);
  const root = findProjectRoot(folder);
  if (start && (await inspectDaemonFile(root, home)).state !== "live") await startDaemon(root, { env, signal });
  const found = await inspectDaemonFile(root, home);
  if (found.state === "live") return clientFollowing(root, found.file, home);
  const problem = found.state === "foreign" ? found.problem : `no daemon runs for ${root}`;
  throw new AegisError("unavailable", problem, { hint: "start one with `aegis up`" });
}
