/** What can be said about a project while no daemon runs for it. Reads only. */
import { join } from "node:path";
import type { Agent, AgentDiagnostic } from "../contract/agent.ts";
import type { Harness } from "../contract/api.ts";
import { detectNativeModel } from "../drivers/native/detect.ts";
import type { ModelSettings } from "../drivers/native/models.ts";
import { systemClock } from "../lib/clock.ts";
import { stateDir, storePath } from "../lib/daemon-file.ts";
import { findProgram } from "../lib/find-program.ts";
import { silentLogger } from "../lib/log.ts";
import { createProcesses } from "../lib/process.ts";
import { AgentRegistry } from "../runtime/registry/agents.ts";
import { DriverRegistry } from "../runtime/registry/drivers.ts";
import { inspect } from "../store/sqlite/inspect.ts";
import { newestVersion } from "../store/sqlite/migrate.ts";
import { migrations } from "../store/sqlite/migrations/list.ts";
import { costDiagnostics } from "./agents/costs.ts";
import { homeOf } from "./build-trust.ts";
import { loadConfig } from "./config/load.ts";
import { formatProblem } from "./config/problem.ts";
import { detectAgents, offlineAgent } from "./detect.ts";
import { createDrivers } from "./drivers.ts";
import { probeOnce } from "./probe-cache.ts";
import { readSettings } from "./settings.ts";
import { settingsOptions } from "./settings-keeper.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The harnesses an agent may name. */
export function harnessNames(root: string, env: Env): string[] {
  return drivers(root, env).names;
}

/** The agent that would answer here if no file said otherwise, and why. */
export async function suggestAgent(root: string, env: Env): Promise<{ agent: Agent; why: string }> {
  const known = drivers(root, env);
  const { agents, choice } = await detectAgents({
    probe: (harness, path) => probeOnce(known.get(harness), path, homeOf(env)),
    findCommand: (name) => findProgram(name, env.PATH ?? ""),
    findModel: () => detectNativeModel(env, fetch, AbortSignal.timeout(1_000)),
  });
  return { agent: agents.find((agent) => agent.slug === choice.slug) ?? offlineAgent, why: choice.why };
}

/** `address` is where the daemon would listen; null when the configuration is wrong. */
export async function checkConfig(
  root: string,
  env: Env,
): Promise<{ files: string[]; problems: string[]; address: { bind: string; port: number } | null }> {
  const { files, problems, config } = await loadConfig({ cwd: root, harnesses: harnessNames(root, env) });
  const address = config === null ? null : { bind: config.server.bind, port: config.server.port };
  return { files, problems: problems.map(formatProblem), address };
}

/** What a daemon would say of the agents, but for those of plugins. Null while the configuration is wrong. */
export async function checkAgents(
  root: string,
  env: Env,
): Promise<{ count: number; diagnostics: AgentDiagnostic[] } | null> {
  let models: ModelSettings = {};
  const known = drivers(root, env, () => models);
  const { settings } = await readSettings(settingsOptions({ root, env, agent: undefined, drivers: known }));
  if (settings === null) return null;
  const { config, choice } = settings;
  models = config.models;
  const agents = new AgentRegistry(settings.agents, choice);
  const costs = costDiagnostics({ agents, drivers: known, config: () => config });
  return {
    count: agents.listAgents().length,
    diagnostics: [...settings.diagnostics, ...agents.diagnostics(), ...costs],
  };
}

/** Throws when the file is not one this version can use. */
export function checkStore(root: string): ReturnType<typeof inspect> {
  return inspect(storePath(root), newestVersion(migrations));
}

export function probeHarnesses(root: string, env: Env, signal: AbortSignal): Promise<Harness[]> {
  return Promise.all(
    drivers(root, env)
      .all()
      .map(async (driver) => ({ harness: driver.harness, ...(await driver.probe(signal)) })),
  );
}

/** Ends what an earlier daemon left running. */
export async function endLeftovers(root: string): Promise<number> {
  return (await processes(root).sweep()).filter((survivor) => survivor.killed).length;
}

function drivers(root: string, env: Env, models: () => ModelSettings = () => ({})): DriverRegistry {
  return new DriverRegistry(
    createDrivers({ env, processes: processes(root), clock: systemClock, log: silentLogger }, models),
  );
}

function processes(root: string) {
  const owner = stateDir(root);
  return createProcesses({ ledgerFile: join(owner, "processes.jsonl"), owner, clock: systemClock, log: silentLogger });
}
