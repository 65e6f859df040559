/** Opens a project for a daemon: takes its lock, loads its settings and opens its store. */
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { createDrivers } from "@aegis/drivers/all.ts";
import { DriverTable } from "@aegis/drivers/driver-table.ts";
import { createMirror } from "@aegis/events/mirror.ts";
import type { InstallPlace } from "@aegis/installer/place.ts";
import { type Clock, systemClock } from "@aegis/lib/clock.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { createProcesses, type Processes } from "@aegis/lib/process.ts";
import { packageVersion } from "@aegis/lib/version.ts";
import { type ClusterSettings, clusterSecrets, clusterSettings } from "@aegis/project/cluster.ts";
import { ConfigService } from "@aegis/project/config-service.ts";
import { projectPlace, settleInstalls, userPlace } from "@aegis/project/packages/places.ts";
import { gateStore } from "@aegis/project/plugins/gate-store.ts";
import { SandboxRecord } from "@aegis/project/sandbox-record.ts";
import { Secrets } from "@aegis/project/secrets.ts";
import { type HeldState, holdState } from "@aegis/project/state/hold.ts";
import { buildTrust, type ProjectTrust } from "@aegis/project/trust/project-trust.ts";
import { redactingStore } from "@aegis/store/redacting.ts";
import type { Store } from "@aegis/store/store.ts";
import { createLogger } from "./logger.ts";
import { openStore } from "./open-store.ts";

export type OpenProjectOptions = {
  root: string;
  env: Readonly<Record<string, string | undefined>>;
  agent?: string | undefined;
  /** Whether to wait for a database server as long as it takes. */
  patient?: boolean;
  /** What this process has published with an earlier store: a node that joins again notices lost commits by it. */
  history?: { published: number };
};

export type OpenProject = {
  root: string;
  stateDir: string;
  /** The state that this daemon holds. */
  state: HeldState;
  version: string;
  /** In a cluster, the clock of the database. */
  clock: Clock;
  log: Logger;
  secrets: Secrets;
  drivers: DriverTable;
  configService: ConfigService;
  store: Store;
  /** Null for a project with an embedded database. */
  cluster: ClusterSettings | null;
  /** Resolves if the database server has lost commits. */
  historyLost: Promise<AegisError>;
  processes: Processes;
  trust: ProjectTrust;
  /** Where packages are installed. */
  places: Readonly<Record<InstallPlace["scope"], InstallPlace>>;
  /** The environment in which the daemon was started. */
  env: OpenProjectOptions["env"];
};

/** Throws if the project cannot be served; `scope` then releases what was acquired. */
export async function openProject(options: OpenProjectOptions, scope: AsyncDisposableStack): Promise<OpenProject> {
  const { env, agent, patient = false, history = { published: 0 } } = options;
  const root = await projectFolder(options.root);
  const clock = systemClock;
  // Recorded gates and sandboxes move with a project; trust must be given again at the new path.
  const state = await holdState({ root, home: homeOf(env), clock }, scope, async (from) => {
    await gateStore(root, env).takeOver(from);
    await new SandboxRecord(root, env).takeOver(from);
  });
  const { dir: stateDir } = state;

  const secrets = new Secrets(env);
  const log = createLogger({
    level: env.AEGIS_LOG ?? "info",
    write: (line) => process.stdout.write(line),
    redact: secrets.redact,
  });
  const processes = createProcesses({ ledgerFile: join(stateDir, "processes.jsonl"), owner: stateDir, clock, log });
  const swept = await processes.sweep();
  if (swept.length > 0) log.warn("killed processes that an earlier daemon left behind", { processes: swept });

  const models = () => configService.settings().config.models;
  const drivers = new DriverTable(createDrivers({ env, processes, clock, log }, models));
  const trust = await buildTrust(root, env);
  const places = { project: projectPlace(trust, state.key), user: await userPlace(homeOf(env), state.key) };
  for (const line of await settleInstalls(places.project)) log.warn(line);
  const configService: ConfigService = await ConfigService.open({ root, env, drivers, secrets, trust, log, agent });

  const cluster = await clusterSettings(configService.settings(), { root, env });
  for (const value of cluster === null ? [] : clusterSecrets(cluster)) secrets.add(value);
  const { promise: historyLost, resolve: onHistoryLost } = Promise.withResolvers<AegisError>();
  const opened = await openStore({ root, state, cluster, patient, history, onHistoryLost, clock, log }, scope);
  const store = redactingStore(opened, secrets.redact);
  const { redact } = secrets;
  const mirror = await createMirror({ store, dir: join(stateDir, "sessions"), redact, log });
  scope.defer(() => mirror.close());
  return {
    root,
    stateDir,
    state,
    version: packageVersion(),
    clock: sharedClock(store),
    log,
    secrets,
    drivers,
    configService,
    store,
    cluster,
    historyLost,
    processes,
    trust,
    places,
    env,
  };
}

/** Times that a node stores are compared on other nodes, whose own clocks may differ from its own. */
function sharedClock({ membership }: Store): Clock {
  return membership === undefined ? systemClock : { now: () => membership.now(), sleep: systemClock.sleep };
}

async function projectFolder(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    throw new AegisError("not_found", `no project folder ${path}: ${errorText(error)}`, { cause: error });
  }
}
