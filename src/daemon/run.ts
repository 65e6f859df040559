/** The life of a daemon: start, serve, pick up changed settings, stop without losing anything. */
import { randomBytes } from "node:crypto";
import { chmod, realpath } from "node:fs/promises";
import { join } from "node:path";
import type { Status } from "../contract/api.ts";
import { systemClock } from "../lib/clock.ts";
import { processStartTime, removeDaemonFile, stateDir as stateDirOf, writeDaemonFile } from "../lib/daemon-file.ts";
import { makePrivateDir } from "../lib/files.ts";
import { errorText } from "../lib/log.ts";
import { createProcesses } from "../lib/process.ts";
import { packageVersion } from "../lib/version.ts";
import { createMirror } from "../runtime/events/mirror.ts";
import { DriverRegistry } from "../runtime/registry/drivers.ts";
import { createServer } from "../server/server.ts";
import { redactingStore } from "../store/redacting.ts";
import { openSqliteStore } from "../store/sqlite/store.ts";
import { buildRuntime, planePath, type Runtime } from "./build.ts";
import { createDrivers } from "./drivers.ts";
import { lockProject } from "./lock.ts";
import { createLogger } from "./logger.ts";
import { Secrets } from "./secrets.ts";
import { SettingsKeeper } from "./settings-keeper.ts";
import { StopSignals } from "./stop-signals.ts";
import { watchProject } from "./watch-project.ts";

export type DaemonOptions = {
  root: string;
  env: Readonly<Record<string, string | undefined>>;
  agent?: string;
  port?: number;
  bind?: string;
  /** Listening beyond this machine needs this flag besides the address. */
  allowRemote: boolean;
};

/** How long turns under way may go on after the first request to stop. */
const drainDeadlineMs = 10_000;

/** Runs until it is told to stop. Throws when it cannot start; nothing is left running or half-written then. */
export async function runDaemon(options: DaemonOptions): Promise<void> {
  const root = await realpath(options.root);
  const stateDir = stateDirOf(root);
  await makePrivateDir(stateDir);
  await chmod(stateDir, 0o700);
  await using scope = new AsyncDisposableStack();
  scope.use(await lockProject(root, stateDir));

  const clock = systemClock;
  const version = packageVersion();
  const secrets = new Secrets(options.env);
  const log = createLogger({
    level: options.env.AEGIS_LOG ?? "info",
    write: (line) => process.stdout.write(line),
    redact: () => secrets.redact,
  });
  const processes = createProcesses({ ledgerFile: join(stateDir, "processes.jsonl"), owner: stateDir, clock, log });
  const swept = await processes.sweep();
  if (swept.length > 0) log.warn("ended processes an earlier daemon left behind", { processes: swept });

  const drivers = new DriverRegistry(createDrivers({ env: options.env, processes, clock, log }));
  const keeper = await SettingsKeeper.open({ root, env: options.env, drivers, secrets, log, agent: options.agent });

  const sqlite = await openSqliteStore({ path: join(stateDir, "aegis.db"), clock, log });
  scope.defer(() => sqlite.close());
  const store = redactingStore(sqlite, () => secrets.redact);
  const mirror = await createMirror({
    store,
    dir: join(stateDir, "sessions"),
    redact: (text) => secrets.redact(text),
    log,
  });
  scope.defer(() => mirror.close());

  const stop = new StopSignals(scope, log);
  const runtime = buildRuntime({
    root,
    stateDir,
    store,
    drivers,
    clock,
    log,
    settings: () => keeper.current,
    version,
    url: () => server.url,
    addSecret: (value) => secrets.add(value),
    signal: stop.forced,
  });
  scope.defer(() => runtime.conversations.closeAll());
  const recovered = await runtime.recover();
  if (recovered.turns > 0) log.warn("recovered from a stop in the middle of work", recovered);

  const token = randomBytes(32).toString("base64url");
  secrets.add(token);
  const startedAt = clock.now();
  const server = await createServer({
    services: {
      sessions: runtime.sessions,
      inbox: runtime.inbox,
      asks: runtime.asks,
      events: runtime.hub,
      status,
      agents: () => runtime.agents.list(),
      harnesses: (signal) => runtime.harnesses(signal),
      config: async () => keeper.describe(),
      reloadConfig: () => keeper.reload(),
      shutdown: ({ force }) => stop.request(force ? "force" : "drain", "asked over the API"),
    },
    token,
    bind: options.bind ?? keeper.current.config.server.bind,
    port: options.port ?? keeper.current.config.server.port,
    allowRemote: options.allowRemote,
    log,
    version,
    clock,
  });
  scope.defer(() => server.close());
  scope.defer(server.mount(planePath, (request) => runtime.plane.fetch(request)));
  scope.defer(() => runtime.plane.close());
  await runtime.asks.resume();

  const id = randomBytes(8).toString("hex");
  await store.transact((tx) =>
    tx.events.append({ type: "daemon.started", session: null, data: { version, pid: process.pid } }, clock.now()),
  );
  keeper.onChange(async ({ agents, choice }, problems) => {
    if (problems.length === 0) runtime.agents.replace(agents, choice);
    await store.transact((tx) =>
      tx.events.append(
        problems.length > 0
          ? { type: "config.rejected", session: null, data: { problems } }
          : {
              type: "config.reloaded",
              session: null,
              data: { agents: agents.map((agent) => agent.slug), default_agent: choice.slug },
            },
        clock.now(),
      ),
    );
  });
  scope.defer(keeper.watch());
  scope.defer(watchProject(root, stateDir, () => stop.request("force", "the project's folder is gone")));
  await writeDaemonFile(root, {
    pid: process.pid,
    start_time: (await processStartTime(process.pid)) ?? "",
    url: server.url,
    token,
    version,
    id,
  });
  scope.defer(async () => void (await removeDaemonFile(root, id)));
  log.info("aegis is up", {
    url: server.url,
    project: root,
    agent: keeper.current.choice.slug,
    why: keeper.current.choice.why,
  });
  await runtime.sessions.wakeAll();

  const reason = await stop.requested;
  await stopRuntime(runtime, reason, stop.forced);

  async function stopRuntime(parts: Runtime, why: string, forced: AbortSignal): Promise<void> {
    log.info("stopping", { reason: why, turns: parts.turns.count });
    await store
      .transact((tx) =>
        tx.events.append({ type: "daemon.stopping", session: null, data: { reason: why } }, clock.now()),
      )
      .catch((error: unknown) => log.warn("the stop could not be recorded", { error: errorText(error) }));
    const deadline = AbortSignal.any([forced, AbortSignal.timeout(drainDeadlineMs)]);
    await Promise.race([parts.sessions.stop(), aborted(deadline)]);
    // What is still under way is left as a crash would leave it, so that the next start takes it up again.
    parts.asks.stop();
    await parts.turns.abandon();
  }

  async function status(): Promise<Status> {
    const [sessions, pending, lastSeq, health] = await Promise.all([
      store.read.sessions.countByState(),
      store.read.messages.pendingBySession(),
      store.read.events.lastSeq(),
      store.health(),
    ]);
    const { choice, agents } = keeper.current;
    return {
      version,
      pid: process.pid,
      url: server.url,
      project: root,
      started_at: startedAt,
      state: stop.isRequested ? "stopping" : "running",
      default_agent: choice.slug,
      agent_choice: choice.why,
      offline: agents.find((agent) => agent.slug === choice.slug)?.harness === "scripted",
      sessions,
      pending_messages: [...pending.values()].reduce((sum, count) => sum + count, 0),
      last_seq: lastSeq,
      memory_bytes: process.memoryUsage.rss(),
      store: { path: health.path, bytes: health.bytes, schema: health.schema, writable: health.writable },
      config_problems: [...keeper.problems, ...health.problems],
    };
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
