/** A client of the daemon of a folder on this machine. */
import type { Client } from "../client/client.ts";
import { AegisError } from "../contract/errors.ts";
import { findProjectRoot, inspectDaemonFile } from "../lib/daemon-file.ts";
import { clientFollowing } from "./following.ts";

/** Finds the daemon again when it was restarted meanwhile. Throws `AegisError` when none runs. */
export async function connectToProject(folder: string): Promise<Client> {
  const root = findProjectRoot(folder);
  const found = await inspectDaemonFile(root);
  if (found.state === "live") return clientFollowing(root, found.file);
  throw new AegisError("unavailable", `no daemon runs for ${root}`, { hint: "start one with `aegis up`" });
}
