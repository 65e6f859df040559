/** Runs a daemon: start, serve, apply changed settings, and stop without losing work. */
import { join } from "node:path";
import type { NewEvent } from "@aegis/contract/event.ts";
import { createQueueMirror, createRunMirror, createScheduleMirror } from "@aegis/events/mirror.ts";
import { createToolMirror } from "@aegis/events/tool-mirror.ts";
import { storePath } from "@aegis/lib/daemon-file.ts";
import { errorText } from "@aegis/lib/log.ts";
import { costDiagnostics } from "@aegis/project/agents/costs.ts";
import type { Store } from "@aegis/store/store.ts";
import { createLedgers } from "@aegis/workflows/ledger.ts";
import { announce } from "./announce.ts";
import { buildRuntime, planePath, type Runtime } from "./build.ts";
import { keepLease, type Membership } from "./build-cluster.ts";
import { ClientEndpoint } from "./build-mcp-http.ts";
import { followSettings } from "./follow-settings.ts";
import { type OpenProject, type OpenProjectOptions, openProject } from "./open-project.ts";
import { Readiness } from "./readiness.ts";
import { mayJoinAgain, type Outages } from "./rejoin.ts";
import { serve } from "./serve.ts";
import { StopSignals } from "./stop-signals.ts";
import { readToken } from "./token.ts";
import { watchProject } from "./watch-project.ts";

export type DaemonOptions = OpenProjectOptions & {
  port?: number;
  bind?: string;
  /** Listening on a non-loopback address requires this flag. */
  allowRemote: boolean;
  /** Of this process. */
  outages: Outages;
};

/** The files that show the event log, by their folder. */
const mirrors = {
  queues: createQueueMirror,
  workflows: createRunMirror,
  schedules: createScheduleMirror,
  tools: createToolMirror,
};

/** How long running turns may continue after the first stop request. */
const drainDeadlineMs = 10_000;

/**
 * Runs until it is asked to stop. Throws if it cannot start, and leaves no process or partial file behind. Returns
 * "fenced" if the node lost its lease, or if an outage ended it after it had served: it has ended its work and may run
 * again.
 */
export async function runDaemon(options: DaemonOptions): Promise<"stopped" | "fenced"> {
  const node: { member?: Membership } = {};
  try {
    await runInScope(options, node);
  } catch (error) {
    // Neither a start nor a stop can complete without the lease.
    if (node.member?.isFenced !== true) throw error;
    process.stderr.write(`aegis: the work of a fenced node ended with an error: ${errorText(error)}\n`);
  }
  return node.member?.isFenced === true ? "fenced" : "stopped";
}

/** Sets the member as soon as there is one. */
async function runInScope(options: DaemonOptions, node: { member?: Membership }): Promise<void> {
  await using scope = new AsyncDisposableStack();
  const project = await openProject(options, scope);
  const stop = new StopSignals(scope, project.log);
  // Other nodes take over once no process is left.
  const member = keepLease(project, stop, options.outages, scope) ?? undefined;
  if (member !== undefined) node.member = member;
  try {
    await runUntilStopped(options, project, stop, member, scope);
  } catch (error) {
    if (member?.hasServed === true && !stop.isRequested && mayJoinAgain(error)) member.lease.lose(errorText(error));
    throw error;
  }
}

async function runUntilStopped(
  options: DaemonOptions,
  project: OpenProject,
  stop: StopSignals,
  member: Membership | undefined,
  scope: AsyncDisposableStack,
): Promise<void> {
  const { root, stateDir, places, env, version, clock, log, secrets, drivers, configService, store, processes, trust } =
    project;
  // Runs after all starters of processes have closed, so that no child process outlives the daemon.
  scope.defer(() => processes.close({ below: true }));
  void project.historyLost.then(({ message, hint }) => {
    log.error(message, { hint });
    stop.request("force", message);
  });

  const runtime = buildRuntime({
    root,
    stateDir,
    places,
    store,
    drivers,
    clock,
    log,
    processes,
    env,
    settings: configService.settings,
    version,
    url: () => server.url,
    addSecret: (value) => secrets.add(value),
    redact: secrets.redact,
    redactedStream: () => secrets.stream(),
    trust,
    signal: stop.forced,
    member,
  });
  scope.defer(() => runtime.plugins.plugins.close());
  scope.defer(() => runtime.conversations.closeAll());
  // A fenced node runs again in this process: also after a start that failed, nothing of it may go on.
  scope.defer(async () => {
    if (member?.isFenced) await runtime.lifecycle.stop(stop.forced).catch(() => {});
  });
  // Messages that recovery admits must not start a turn before plugins are loaded and harnesses can reach the plane.
  runtime.sessions.rest();
  await runtime.lifecycle.recover();
  const { redact } = secrets;
  for (const [folder, create] of Object.entries(mirrors)) {
    const mirror = await create({ store, dir: join(stateDir, folder), redact, log });
    scope.defer(() => mirror.close());
  }
  const ledgers = await createLedgers({ store, dir: stateDir, log });
  scope.defer(() => ledgers.close());

  const token = await readToken(root, configService.settings().config.server.token_file);
  secrets.add(token);
  runtime.clients.deriveFrom(token);
  const ready = new Readiness();
  const { bind, port, allowRemote } = options;
  const server = await serve({ project, runtime, stop, ready, token, bind, port, allowRemote });
  scope.defer(() => server.close());
  scope.defer(() => runtime.plane.close());
  const clientEndpoint = new ClientEndpoint({ clients: runtime.clients, version, url: () => server.url, log });
  scope.defer(() => clientEndpoint.close());
  scope.defer(
    server.mount(planePath, async (request, text) => {
      if (!ready.isReached) await ready.reached;
      return (await clientEndpoint.fetch(request, text)) ?? runtime.plane.fetch(request, text);
    }),
  );

  runtime.channels.serveHooks((name, handler) =>
    server.mount(`/v1/hooks/${name}`, ({ method, headers }, _text, bytes) => handler({ method, headers, bytes })),
  );
  await runtime.channels.listen();

  await append(store, { type: "daemon.started", session: null, data: { version, pid: process.pid } }, clock.now());
  followSettings(project, runtime);
  scope.defer(configService.watch());
  const loaded = runtime.plugins.plugins.reload();
  // Handled below; the daemon may be asked to stop before.
  loaded.catch(() => {});
  const announcement = await announce({ root, url: server.url, token, version, state: project.state, log });
  scope.defer(() => announcement.withdraw());
  if (member !== undefined) member.hasServed = true;
  const watching = await watchProject({
    paths: [root, stateDir, ...(project.cluster === null ? [storePath(root)] : [])],
    onGone: () => stop.request("force", "the project's folder or its database was deleted or replaced"),
    onThere: () => announcement.restore(),
  });
  scope.defer(watching);
  const { choice } = configService.settings();
  log.info("aegis is up", { url: server.url, project: root, agent: choice.slug, why: choice.why });
  scope.defer(() => ready.refuse());
  if ((await Promise.race([loaded, stop.requested.then(() => "stop" as const)])) !== "stop")
    await begin(project, runtime, ready);

  const reason = await stop.requested;
  ready.refuse();
  log.info("stopping", { reason, turns: runtime.turns.count });
  // Its processes end first: another node may take over soon.
  if (member?.lease.isLost) await Promise.all([runtime.turns.abandon(), runtime.conversations.closeAll()]);
  await append(store, { type: "daemon.stopping", session: null, data: { reason } }, clock.now()).catch(
    (error: unknown) => log.warn("the stop could not be recorded", { error: errorText(error) }),
  );
  await runtime.lifecycle.stop(AbortSignal.any([stop.forced, AbortSignal.timeout(drainDeadlineMs)]));
  await runtime.hooks.close(reason, stop.forced);
}

/** Starts work. All parts of plugins are registered, so that plugins observe and gate from the first turn on. */
async function begin(project: OpenProject, runtime: Runtime, ready: Readiness): Promise<void> {
  const { configService, drivers, log } = project;
  const config = () => configService.settings().config;
  for (const { agent, message } of costDiagnostics({ agents: runtime.agents, drivers, config }))
    log.warn(message, { agent });
  // Before a client can create a session, because plugins get `on_startup` before `session_start`.
  runtime.hooks.started();
  ready.reach();
  await runtime.lifecycle.start();
}

async function append(store: Store, event: NewEvent, at: number): Promise<void> {
  await store.transact((tx) => tx.events.append(event, at));
}
