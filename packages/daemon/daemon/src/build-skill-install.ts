/** Builds the skill installer and the tool with which agents request an install. */

import type { InstallPlace } from "@aegis/installer/place.ts";
import { SkillInstaller } from "@aegis/installer/skill/installer.ts";
import { defaultGithubUrl } from "@aegis/installer/source.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { homeOf } from "@aegis/lib/home.ts";
import type { Logger } from "@aegis/lib/log.ts";
import type { Processes } from "@aegis/lib/process.ts";
import { skillInstallTool } from "@aegis/mcp-plane/tools/skill-install.ts";
import type { Settings } from "@aegis/project/settings.ts";
import type { Asks } from "@aegis/sessions/asks/asks.ts";
import type { AgentTool } from "@aegis/sessions/tools/tools.ts";
import type { Store } from "@aegis/store/store.ts";

export type BuildSkillInstallOptions = {
  root: string;
  places: Readonly<Record<InstallPlace["scope"], InstallPlace>>;
  clock: Clock;
  log: Logger;
  processes: Processes;
  env: Environment;
  settings: () => Settings;
  asks: Asks;
  store: Store;
};

export function buildSkillInstall(options: BuildSkillInstallOptions): {
  installer: SkillInstaller;
  tools: AgentTool[];
} {
  const { root, places, clock, log, processes, env, settings, asks, store } = options;
  const installer = new SkillInstaller({
    root,
    places,
    clock,
    log,
    processes,
    env,
    home: homeOf(env),
    githubUrl: env.AEGIS_GITHUB_URL ?? defaultGithubUrl,
    changed: (change) => store.transact(async (tx) => void (await tx.events.append(change, clock.now()))),
    registry: () => settings().config.skills.registry,
    token: () => env.CLAWHUB_TOKEN ?? null,
  });
  const policy = () => settings().config.skills.agent_install;
  return { installer, tools: [skillInstallTool({ installer, asks, policy })] };
}
