/** Makes the installer of a project, for commands: no daemon is needed, and a running one notices by itself. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { bundledPluginsDir } from "../../lib/assets.ts";
import type { Environment } from "../../lib/child-env.ts";
import { systemClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/log.ts";
import { createProcesses } from "../../lib/process.ts";
import type { TreeLimits } from "../../lib/tree-rules.ts";
import { packageVersion } from "../../lib/version.ts";
import { Installer } from "../../runtime/plugins/install/installer.ts";
import { type Checkpoint, installsDir } from "../../runtime/plugins/install/journal.ts";
import type { InstallerPerson } from "../../runtime/plugins/install/transaction.ts";
import { buildTrust } from "../build-trust.ts";
import { stateFolder } from "../state-folder.ts";
import { alone, whileConfigRests } from "./locks.ts";
import { createProjectConfig } from "./project-config.ts";
import { sealWith } from "./settle.ts";

export type InstallerSetup = {
  root: string;
  env: Environment;
  harnesses: readonly string[];
  person: InstallerPerson;
  signal: AbortSignal;
  /** Narrower limits and points to stop at, for tests. */
  limits?: Partial<TreeLimits>;
  at?: Checkpoint;
  scriptTimeoutMs?: number;
};

const defaultGithub = "https://github.com";

export async function createInstaller(setup: InstallerSetup): Promise<Installer> {
  const { env, harnesses, person, signal, limits, at, scriptTimeoutMs } = setup;
  const trust = await buildTrust(setup.root, env);
  const { root } = trust;
  await stateFolder(root);
  await mkdir(installsDir(root), { recursive: true, mode: 0o700 });
  const processes = createProcesses({
    ledgerFile: join(installsDir(root), "processes.jsonl"),
    // Not the daemon's: one that starts in the meantime must not take the script for a leftover of its own.
    owner: installsDir(root),
    clock: systemClock,
    log: silentLogger,
  });
  return new Installer({
    root,
    aegisVersion: packageVersion(),
    processes,
    clock: systemClock,
    env,
    signal,
    // From the environment only: a project's file must not decide where `gh:` leads.
    githubUrl: env.AEGIS_GITHUB_URL ?? defaultGithub,
    bundledDir: bundledPluginsDir(),
    config: createProjectConfig({ harnesses }),
    person,
    trust: trust.trust,
    seal: sealWith(trust),
    alone: (work) =>
      alone(root, async () => {
        await processes.sweep();
        return work();
      }),
    whileConfigRests: (work) => whileConfigRests(root, work),
    dataDir: (plugin) => join(".aegis", "state", "plugins", plugin),
    ...(limits === undefined ? {} : { limits }),
    ...(at === undefined ? {} : { at }),
    ...(scriptTimeoutMs === undefined ? {} : { scriptTimeoutMs }),
  });
}
