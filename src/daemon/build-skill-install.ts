/** Builds the skill installer and the tool with which agents request an install. */

import type { Environment } from "../lib/child-env.ts";
import type { Clock } from "../lib/clock.ts";
import { homeOf } from "../lib/home.ts";
import type { Logger } from "../lib/log.ts";
import type { Processes } from "../lib/process.ts";
import type { Place } from "../packages/place.ts";
import { SkillInstaller } from "../packages/skill/installer.ts";
import { defaultGithubUrl } from "../packages/source.ts";
import { skillInstallTool } from "../plane/tools/skill-install.ts";
import type { Settings } from "../project/settings.ts";
import type { Asks } from "../runtime/asks/asks.ts";
import type { Tool } from "../runtime/tables/tools.ts";
import type { Store } from "../store/store.ts";

export type BuildSkillInstallOptions = {
  root: string;
  places: Readonly<Record<Place["scope"], Place>>;
  clock: Clock;
  log: Logger;
  processes: Processes;
  env: Environment;
  settings: () => Settings;
  asks: Asks;
  store: Store;
};

export function buildSkillInstall(options: BuildSkillInstallOptions): { installer: SkillInstaller; tools: Tool[] } {
  const { root, places, clock, log, processes, env, settings, asks, store } = options;
  const installer = new SkillInstaller({
    ...{ root, places, clock, log, processes, env },
    home: homeOf(env),
    githubUrl: env.AEGIS_GITHUB_URL ?? defaultGithubUrl,
    changed: (change) => store.transact(async (tx) => void (await tx.events.append(change, clock.now()))),
    registry: () => settings().config.skills.registry,
    token: () => env.CLAWHUB_TOKEN ?? null,
  });
  const policy = () => settings().config.skills.agent_install;
  return { installer, tools: [skillInstallTool({ installer, asks, policy })] };
}
