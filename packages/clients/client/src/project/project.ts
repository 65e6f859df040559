/** A client for the daemon of a local folder. */

import { AegisError } from "@aegis/contract/errors.ts";
import { findProjectRoot, inspectDaemonFile } from "@aegis/lib/daemon-file.ts";
import { userHome } from "@aegis/lib/home.ts";
import type { Client } from "../client.ts";
import { clientFollowing } from "./following.ts";

/**
 * @deprecated Use `connect` of `aegis/client`.
 *
 * Reconnects after a restart of the daemon. Throws `AegisError` if no daemon runs. `home` is the home folder of the
 * user who started the daemon; the client talks only to a daemon of that user.
 */
export async function connectToProject(folder: string, { home = userHome() }: { home?: string } = {}): Promise<Client> {
  const root = findProjectRoot(folder);
  const found = await inspectDaemonFile(root, home);
  if (found.state === "live") return clientFollowing(root, found.file, home);
  if (found.state === "foreign")
    throw new AegisError("unavailable", found.problem, { hint: "start one with `aegis up`" });
  throw new AegisError("unavailable", `no daemon runs for ${root}`, { hint: "start one with `aegis up`" });
}
