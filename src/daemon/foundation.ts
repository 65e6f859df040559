/** What a daemon stands on before it runs anything: the project's lock, its settings, its store. */
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { AegisError } from "../contract/errors.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { errorText, type Logger } from "../lib/log.ts";
import { createProcesses, type Processes } from "../lib/process.ts";
import { packageVersion } from "../lib/version.ts";
import { createMirror } from "../runtime/events/mirror.ts";
import { DriverRegistry } from "../runtime/registry/drivers.ts";
import { redactingStore } from "../store/redacting.ts";
import { openSqliteStore } from "../store/sqlite/store.ts";
import type { Store } from "../store/store.ts";
import { buildTrust, type ProjectTrust } from "./build-trust.ts";
import { createDrivers } from "./drivers.ts";
import { lockProject } from "./lock.ts";
import { createLogger } from "./logger.ts";
import { settleInstalls } from "./plugin-install/settle.ts";
import { Secrets } from "./secrets.ts";
import { SettingsKeeper } from "./settings-keeper.ts";
import { stateFolder } from "./state-folder.ts";

export type FoundationOptions = {
  root: string;
  env: Readonly<Record<string, string | undefined>>;
  agent?: string | undefined;
};

export type Foundation = {
  root: string;
  stateDir: string;
  version: string;
  clock: Clock;
  log: Logger;
  secrets: Secrets;
  drivers: DriverRegistry;
  keeper: SettingsKeeper;
  store: Store;
  processes: Processes;
  trust: ProjectTrust;
  /** The environment the daemon was started in. */
  env: FoundationOptions["env"];
};

/** Throws when the project cannot be served; `scope` then gives back whatever was taken. */
export async function layFoundation(options: FoundationOptions, scope: AsyncDisposableStack): Promise<Foundation> {
  const { env, agent } = options;
  const root = await projectFolder(options.root);
  const stateDir = await stateFolder(root);
  scope.use(await lockProject(root, stateDir));

  const clock = systemClock;
  const secrets = new Secrets(env);
  const log = createLogger({
    level: env.AEGIS_LOG ?? "info",
    write: (line) => process.stdout.write(line),
    redact: () => secrets.redact,
  });
  const processes = createProcesses({ ledgerFile: join(stateDir, "processes.jsonl"), owner: stateDir, clock, log });
  const swept = await processes.sweep();
  if (swept.length > 0) log.warn("ended processes an earlier daemon left behind", { processes: swept });

  const models = () => keeper.current.config.models;
  const drivers = new DriverRegistry(createDrivers({ env, processes, clock, log }, models));
  const trust = await buildTrust(root, env);
  for (const line of await settleInstalls(root, trust)) log.warn(line);
  const keeper: SettingsKeeper = await SettingsKeeper.open({ root, env, drivers, secrets, trust, log, agent });

  const sqlite = await openSqliteStore({ path: join(stateDir, "aegis.db"), clock, log });
  scope.defer(() => sqlite.close());
  const store = redactingStore(sqlite, () => secrets.redact);
  const redact = (text: string) => secrets.redact(text);
  const mirror = await createMirror({ store, dir: join(stateDir, "sessions"), redact, log });
  scope.defer(() => mirror.close());
  return {
    root,
    stateDir,
    version: packageVersion(),
    clock,
    log,
    secrets,
    drivers,
    keeper,
    store,
    processes,
    trust,
    env,
  };
}

async function projectFolder(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    throw new AegisError("not_found", `no project folder ${path}: ${errorText(error)}`, { cause: error });
  }
}
