/**
 * Creates the plugin installer of a project for CLI commands. It needs no daemon; a running daemon notices the changes.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { TakenNames } from "../../contract/plugin.ts";
import { bundledPluginsDir } from "../../lib/assets.ts";
import type { Environment } from "../../lib/child-env.ts";
import { systemClock } from "../../lib/clock.ts";
import { silentLogger } from "../../lib/log.ts";
import { createProcesses } from "../../lib/process.ts";
import type { TreeLimits } from "../../lib/tree-rules.ts";
import { packageVersion } from "../../lib/version.ts";
import type { Checkpoint } from "../../packages/journal.ts";
import { PluginInstaller } from "../../packages/plugin/installer.ts";
import type { InstallerPerson } from "../../packages/plugin/transaction.ts";
import { defaultGithubUrl } from "../../packages/source.ts";
import { claimState } from "../state/hold.ts";
import { requireKey } from "../state/judge.ts";
import { buildTrust, homeOf } from "../trust/project-trust.ts";
import { alone, projectPlace } from "./places.ts";
import { createProjectConfig } from "./project-config.ts";
import { tryStaged } from "./try-staged.ts";

export type InstallerSetup = {
  root: string;
  env: Environment;
  harnesses: readonly string[];
  person: InstallerPerson;
  signal: AbortSignal;
  /** The names that the plugins of a running daemon provide. */
  taken?: () => Promise<readonly TakenNames[]>;
  /** Lower limits and stop points, for tests. */
  limits?: Partial<TreeLimits>;
  at?: Checkpoint;
  scriptTimeoutMs?: number;
};

export async function createInstaller(setup: InstallerSetup): Promise<PluginInstaller> {
  const { env, harnesses, person, signal, limits, at, scriptTimeoutMs } = setup;
  const trust = await buildTrust(setup.root, env);
  const { root } = trust;
  const home = homeOf(env);
  await claimState({ root, home, clock: systemClock });
  const place = projectPlace(trust, await requireKey(home));
  const { installs } = place;
  await mkdir(installs, { recursive: true, mode: 0o700 });
  const processes = createProcesses({
    ledgerFile: join(installs, "processes.jsonl"),
    // Not the daemon's owner key: a daemon that starts in the meantime must not treat the script as its own leftover.
    owner: installs,
    clock: systemClock,
    log: silentLogger,
  });
  const config = createProjectConfig({ harnesses });
  return new PluginInstaller({
    place,
    home,
    aegisVersion: packageVersion(),
    processes,
    clock: systemClock,
    env,
    signal,
    // Read from the environment only: a project file must not decide where `gh:` leads.
    githubUrl: env.AEGIS_GITHUB_URL ?? defaultGithubUrl,
    bundledDir: bundledPluginsDir(),
    config,
    person,
    trust: trust.trust,
    alone: (work) =>
      alone(place, async () => {
        await processes.sweep();
        return work();
      }),
    tryLoading: (staged) => tryStaged(staged, { root, env, config, taken: setup.taken }),
    dataDir: (plugin) => join(".aegis", "state", "plugins", plugin),
    ...(limits === undefined ? {} : { limits }),
    ...(at === undefined ? {} : { at }),
    ...(scriptTimeoutMs === undefined ? {} : { scriptTimeoutMs }),
  });
}
