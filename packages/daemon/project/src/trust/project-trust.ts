/** Creates the trust check of a project and the store in which the user's decisions are kept. */
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { FilePlan } from "@aegis/installer/file-plan.ts";
import { readLock } from "@aegis/installer/lockfile.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { homeOf, userName } from "@aegis/lib/home.ts";
import { TrustStore } from "@aegis/plugins/trust/store.ts";
import { createTrust, type Trust } from "@aegis/plugins/trust/trust.ts";
import { withLock } from "../config/lock.ts";

export type ProjectTrust = { root: string; trust: Trust; store: TrustStore };

export function trustStore(home: string): TrustStore {
  const path = join(home, ".aegis", "trust.json");
  return new TrustStore({ path, exclusive: withLock, now: () => systemClock.now(), user: userName() });
}

export async function buildTrust(root: string, env: Environment): Promise<ProjectTrust> {
  const home = homeOf(env);
  const real = await realpath(root);
  const store = trustStore(home);
  const own = join(home, ".aegis", "plugins");
  const ownDirs = [await realpath(own).catch(() => own)];
  const installedHash = async (plugin: string) =>
    (await readLock(new FilePlan(real), { base: ".aegis" })).plugin.get(plugin)?.hash ?? null;
  return { root: real, store, trust: createTrust({ root: real, store, ownDirs, installedHash }) };
}
