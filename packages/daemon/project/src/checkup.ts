/** Inspects a project without a running daemon. Read-only, except for ending leftover processes. */

import { existsSync } from "node:fs";
import { AgentTable } from "@aegis/agents/agent-table.ts";
import type { Agent, AgentDiagnostic } from "@aegis/contract/agent.ts";
import type { Harness } from "@aegis/contract/api.ts";
import { createDrivers } from "@aegis/drivers/all.ts";
import { DriverTable } from "@aegis/drivers/driver-table.ts";
import { detectNativeModel } from "@aegis/drivers/native/detect.ts";
import type { ModelSettings } from "@aegis/drivers/native/models.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { storePath } from "@aegis/lib/daemon-file.ts";
import { findProgram } from "@aegis/lib/find-program.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import type { Processes } from "@aegis/lib/process.ts";
import { leftProcesses, unrecordedProcesses } from "@aegis/lib/project-processes.ts";
import type { OpenSession } from "@aegis/store/store.ts";
import type { Examination } from "@aegis/store-postgres/examine.ts";
import { inspect, refuseUnusable } from "@aegis/store-sqlite/inspect.ts";
import { newestVersion } from "@aegis/store-sqlite/migrate.ts";
import { migrations } from "@aegis/store-sqlite/migrations/list.ts";
import { openSessions } from "@aegis/store-sqlite/open-sessions.ts";
import { costDiagnostics } from "./agents/costs.ts";
import { AgentFiles } from "./agents/files.ts";
import { agentPlaces } from "./agents/places.ts";
import { loadConfig } from "./config/load.ts";
import { formatProblem } from "./config/problem.ts";
import { settingsOptions } from "./config-service.ts";
import { detectAgents, detectable, offlineAgent } from "./harnesses/detect.ts";
import { probeOnce } from "./harnesses/probe-cache.ts";
import { readCluster } from "./read-cluster.ts";
import { readSettings } from "./settings.ts";
import { stateOwner, statePlace } from "./state/decide.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The harness names that an agent may use. */
export function harnessNames(root: string, env: Env): string[] {
  return drivers(root, env).names;
}

/** The coding CLIs that Aegis looks for: the name of the agent that each gets, and its harness. */
export function codingClis(): { slug: string; harness: string }[] {
  return detectable.map(({ slug, harness }) => ({ slug, harness }));
}

/** The input for a first configuration. */
export type Suggestion = {
  /** The agent that Aegis would use without any configuration, and the reason. */
  agent: Agent;
  why: string;
  /** The other agents found on this machine. `starts` is false if the harness does not start. */
  others: { agent: Agent; starts: boolean }[];
  /** Names that agent files already use. */
  named: string[];
};

/**
 * Starts all harnesses in parallel to see whether they work. The result is written to a configuration, so accuracy
 * matters more than time.
 */
export async function suggestAgents(root: string, env: Env): Promise<Suggestion> {
  const known = drivers(root, env);
  const [{ agents, choice, broken }, files] = await Promise.all([
    detectAgents({
      probe: (harness, path) => probeOnce(known.get(harness), path, homeOf(env)),
      findCommand: (name) => findProgram(name, env.PATH ?? ""),
      findModel: () => detectNativeModel(env, fetch, AbortSignal.timeout(1_000)),
      probeAll: true,
    }),
    new AgentFiles().load(agentPlaces(root, homeOf(env))),
  ]);
  const others = agents.filter(({ slug }) => slug !== choice.slug && slug !== offlineAgent.slug);
  return {
    agent: agents.find((agent) => agent.slug === choice.slug) ?? offlineAgent,
    why: choice.why,
    others: others.map((agent) => ({ agent, starts: !broken.includes(agent.slug) })),
    named: files.profiles.map(({ slug }) => slug),
  };
}

/** The open sessions in the database of the project's cluster; null without a cluster. Throws if they cannot be read. */
export async function clusterSessionsOf(root: string, env: Env): Promise<OpenSession[] | null> {
  const cluster = await readCluster(root, env, harnessNames(root, env));
  if (cluster === null) return null;
  const { openSessionsIn } = await import("@aegis/store-postgres/open-sessions.ts");
  return openSessionsIn(cluster);
}

/**
 * Returns the open sessions in the project's embedded database; an empty list for state that is not known to belong to the user. Throws if the
 * state cannot be read.
 */
export async function openSessionsOf(root: string, env: Env): Promise<OpenSession[]> {
  const { owner } = await stateOwner(await statePlace(root, env));
  const path = storePath(root);
  if (owner === "none" || owner === "unknown" || !existsSync(path)) return [];
  await refuseUnusable(path, newestVersion(migrations));
  return openSessions(path);
}

/** `address` is where the daemon would listen; null if the configuration is invalid. */
export async function checkConfig(
  root: string,
  env: Env,
): Promise<{ files: string[]; problems: string[]; address: { bind: string; port: number } | null }> {
  const { files, problems, config } = await loadConfig({ cwd: root, harnesses: harnessNames(root, env) });
  const address = config === null ? null : { bind: config.server.bind, port: config.server.port };
  return { files, problems: problems.map(formatProblem), address };
}

/**
 * The diagnostics that a daemon would report about agents, except agents from plugins. Null if the configuration is
 * invalid.
 */
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
  const agents = new AgentTable(settings.agents, choice);
  const costs = costDiagnostics({ agents, drivers: known, config: () => config });
  return {
    count: agents.listAgents().length,
    diagnostics: [...settings.diagnostics, ...agents.diagnostics(), ...costs],
  };
}

/** Throws if this version cannot use the database file. */
export function checkStore(root: string): ReturnType<typeof inspect> {
  return inspect(storePath(root), newestVersion(migrations));
}

/** Null for a project with an embedded database. Throws what a start would throw about the cluster's database. */
export async function checkDatabase(root: string, env: Env): Promise<Examination | null> {
  const cluster = await readCluster(root, env, harnessNames(root, env));
  if (cluster === null) return null;
  const { examineDatabase } = await import("@aegis/store-postgres/examine.ts");
  return examineDatabase(cluster);
}

export function probeHarnesses(root: string, env: Env, signal: AbortSignal): Promise<Harness[]> {
  return Promise.all(
    drivers(root, env)
      .all()
      .map(async (driver) => ({ harness: driver.harness, ...(await driver.probe(signal)) })),
  );
}

/** Finds processes that outlived their parent process, session or daemon. */
export function findLeftovers(root: string, daemonRuns: boolean): ReturnType<Processes["leftovers"]> {
  return leftProcesses(root).leftovers({ daemonRuns });
}

/** Ends the leftover processes and returns how many ended. */
export async function endLeftovers(root: string, daemonRuns = false): Promise<number> {
  return (await leftProcesses(root).endLeftovers({ daemonRuns })).filter((survivor) => survivor.killed).length;
}

function drivers(root: string, env: Env, models: () => ModelSettings = () => ({})): DriverTable {
  return new DriverTable(
    createDrivers({ env, processes: unrecordedProcesses(root), clock: systemClock, log: silentLogger }, models),
  );
}
