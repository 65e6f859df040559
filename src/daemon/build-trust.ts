/** Makes what decides whether a project's code may run, and the ways in which its user agrees. */
import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../lib/child-env.ts";
import { systemClock } from "../lib/clock.ts";
import { TrustStore } from "../runtime/plugins/trust/store.ts";
import { createTrust, type Trust } from "../runtime/plugins/trust/trust.ts";
import { withLock } from "./config/lock.ts";

export type ProjectTrust = { root: string; trust: Trust; store: TrustStore };

export function trustPath(home: string): string {
  return join(home, ".aegis", "trust.json");
}

/** The folder of the user whose trust counts. */
export function homeOf(env: Environment): string {
  return env.HOME ?? homedir();
}

export async function buildTrust(root: string, env: Environment): Promise<ProjectTrust> {
  const home = homeOf(env);
  const real = await realpath(root);
  const store = new TrustStore({ path: trustPath(home), exclusive: withLock, now: () => systemClock.now() });
  const own = join(home, ".aegis", "plugins");
  const ownDirs = [await realpath(own).catch(() => own)];
  return { root: real, store, trust: createTrust({ root: real, store, ownDirs }) };
}
