/** Makes what installs skills, and the tool by which agents ask for it. */
import { homedir } from "node:os";
import type { Environment } from "../lib/child-env.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/log.ts";
import type { Processes } from "../lib/process.ts";
import { skillInstallTool } from "../plane/tools/skill-install.ts";
import type { Asks } from "../runtime/asks/asks.ts";
import type { Tool } from "../runtime/registry/tools.ts";
import { SkillInstaller } from "../runtime/skills/install/installer.ts";
import type { Store } from "../store/store.ts";
import type { Settings } from "./settings.ts";

export type BuildSkillInstallOptions = {
  root: string;
  stateDir: string;
  clock: Clock;
  log: Logger;
  processes: Processes;
  env: Environment;
  settings: () => Settings;
  asks: Asks;
  store: Store;
};

export function buildSkillInstall(options: BuildSkillInstallOptions): { installer: SkillInstaller; tools: Tool[] } {
  const { root, stateDir, clock, log, processes, env, settings, asks, store } = options;
  const installer = new SkillInstaller({
    ...{ root, stateDir, clock, log, processes, env },
    home: env.HOME ?? homedir(),
    changed: (change) => store.transact(async (tx) => void (await tx.events.append(change, clock.now()))),
    registry: () => settings().config.skills.registry,
    token: () => env.CLAWHUB_TOKEN ?? null,
  });
  const policy = () => settings().config.skills.agent_install;
  return { installer, tools: [skillInstallTool({ installer, asks, policy })] };
}
