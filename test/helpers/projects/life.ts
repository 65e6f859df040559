/** Questions about the life of a daemon. */
import { access } from "node:fs/promises";
import type { Daemon, Project } from "../project.ts";
import { createSession, hasSaid, say } from "../talk.ts";
import { waitUntil } from "../wait-until.ts";

export const cleanExit = { code: 0, signal: null, stderr: "" };

export function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** A daemon with a turn that waits at the gate `one`. */
export async function inTurn(project: Project) {
  const daemon = await project.start();
  const session = await createSession(daemon.client);
  const receipt = await say(daemon.client, session.id, "hold one");
  await hasSaid(daemon.client, session.id, "holding one");
  return { daemon, session, receipt };
}

export async function isDraining(daemon: Daemon): Promise<void> {
  await waitUntil("it drains", async () => (await daemon.client.call("status")).state === "stopping");
}
