/** Runs a daemon: start, serve, apply changed settings, and stop without losing work. */
import { join } from "node:path";
import type { NewEvent } from "@aegis/contract/event.ts";
import { createQueueMirror, createRunMirror, createScheduleMirror } from "@aegis/events/mirror.ts";
import { createToolMirror } from "@aegis/events/tool-mirror.ts";
import { createServer, type RunningServer } from "@aegis/http/server.ts";
import { shownWithout } from "@aegis/http/shown.ts";
import { WebAccess } from "@aegis/http/web/access.ts";
import { storePath } from "@aegis/lib/daemon-file.ts";
import { errorText } from "@aegis/lib/log.ts";
import { costDiagnostics } from "@aegis/project/agents/costs.ts";
import { agentDiagnostics, describeAgent } from "@aegis/project/agents/describe.ts";
import { editAsOwner } from "@aegis/project/trust/agree.ts";
import { whyMessage } from "@aegis/sessions/inbox/why.ts";
import { usageReport } from "@aegis/sessions/usage-report.ts";
import type { Store } from "@aegis/store/store.ts";
import { createLedgers } from "@aegis/workflows/ledger.ts";
import { agentSources } from "./agent-sources.ts";
import { announce } from "./announce.ts";
import { collectAudit } from "./audit/collect.ts";
import { browsersFile } from "./browsers.ts";
import { buildRuntime, planePath, type Runtime } from "./build.ts";
import { keepLease, type Membership } from "./build-cluster.ts";
import { buildCommands } from "./build-commands.ts";
import { ClientEndpoint } from "./build-mcp-http.ts";
import { buildPluginChanges } from "./build-plugin-install.ts";
import { scheduleEditor } from "./build-schedules.ts";
import { type OpenProject, type OpenProjectOptions, openProject } from "./open-project.ts";
import { Readiness } from "./readiness.ts";
import { mayJoinAgain, type Outages } from "./rejoin.ts";
import { readStatus } from "./status.ts";
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
  const { root, stateDir, version, clock, log, secrets, configService, store, processes } = project;
  // Runs after all starters of processes have closed, so that no child process outlives the daemon.
  scope.defer(() => processes.close({ below: true }));
  void project.historyLost.then(({ message, hint }) => {
    log.error(message, { hint });
    stop.request("force", message);
  });

  const runtime = buildRuntime({
    ...project,
    settings: configService.settings,
    url: () => server.url,
    addSecret: (value) => secrets.add(value),
    redact: secrets.redact,
    redactedStream: () => secrets.stream(),
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
  const server = await serve(options, project, runtime, stop, token, ready);
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
    server.mount(hookPath(name), ({ method, headers }, _text, bytes) => handler({ method, headers, bytes })),
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
  const { configService, log } = project;
  for (const { agent, message } of costDiagnostics({
    ...project,
    ...runtime,
    config: () => configService.settings().config,
  }))
    log.warn(message, { agent });
  // Before a client can create a session, because plugins get `on_startup` before `session_start`.
  runtime.hooks.started();
  ready.reach();
  await runtime.lifecycle.start();
}

function hookPath(name: string): string {
  return `/v1/hooks/${name}`;
}

function serve(
  options: DaemonOptions,
  project: OpenProject,
  runtime: Runtime,
  stop: StopSignals,
  token: string,
  ready: Readiness,
): Promise<RunningServer> {
  const { root, configService, clock, log, version } = project;
  const { server: settings } = configService.settings().config;
  const startedAt = clock.now();
  const browsers = browsersFile({ ...project, key: project.state.key });
  const web = new WebAccess({ clock, store: browsers.store(async () => (await started).port) });
  const { agents, tools } = runtime;
  const described = {
    agents,
    tools,
    drivers: project.drivers,
    config: () => configService.settings().config,
    fileDiagnostics: () => configService.settings().diagnostics,
  };
  const started: Promise<RunningServer> = createServer({
    services: {
      agents: {
        list: () => runtime.agents.listAgents(),
        diagnostics: () => agentDiagnostics(described),
        describe: (reference) => describeAgent(described, reference),
        ...agentSources({ ...project, tools, reload: () => configService.reload() }),
      },
      sessions: runtime.sessions,
      changes: runtime.changes,
      files: runtime.files,
      worktrees: runtime.worktrees,
      removal: runtime.removal,
      landings: runtime.landings,
      mergeQueue: runtime.landings.queue,
      claims: runtime.claims,
      receipts: runtime.receipts,
      rescues: runtime.rescues,
      usage: (request) => usageReport(project.store.read, project.clock, request),
      inbox: runtime.inbox,
      attachments: runtime.attachments,
      why: (message) => whyMessage(project.store.read, message, project.secrets.redact),
      asks: runtime.asks,
      shown: shownWithout(project.secrets.redact),
      queues: runtime.queues,
      subagents: runtime.subagents,
      pool: runtime.pool,
      nodes: runtime.cluster?.nodes ?? null,
      remote: runtime.cluster?.remote ?? null,
      groups: runtime.groups,
      broadcasts: runtime.broadcasts,
      workflows: runtime.workflows,
      plugins: runtime.plugins.plugins,
      pluginChanges: buildPluginChanges({
        root,
        env: project.env,
        harnesses: project.drivers.names,
        place: project.places.project,
        plugins: runtime.plugins.plugins,
        reload: () => configService.reload(),
      }),
      commands: buildCommands({ ...project, ...runtime, table: runtime.plugins.commands }),
      clients: {
        nameOf: (given) => runtime.clients.nameOf(given),
        list: () => runtime.clients.list(),
        add: (name) => runtime.clients.add(name),
        remove: (name) => runtime.clients.remove(name),
        url: async () => `${(await started).url}${planePath}`,
      },
      skills: runtime.skills.skills,
      skillInstall: runtime.skillInstall,
      schedules: runtime.schedules,
      scheduleFiles: scheduleEditor({
        root,
        schedules: runtime.schedules,
        harnesses: project.drivers.names,
        asOwner: (edit) => editAsOwner({ ...project, harnesses: project.drivers.names }, edit),
        reload: () => configService.reload(),
      }),
      web,
      webUrl: async () => (await started).url,
      channels: runtime.channels.channels,
      events: runtime.hub,
      status: async () =>
        readStatus(project, {
          url: (await started).url,
          startedAt,
          stopping: stop.isRequested,
          agents,
          judge: runtime.judge,
          plugins: runtime.plugins.plugins.list(),
          // Their number is not known before their folders are read.
          pluginsLoading: Math.max(runtime.plugins.plugins.loading, ready.isReached ? 0 : 1),
          missingGates: runtime.plugins.plugins.missingGates,
          channels: await runtime.channels.channels.list(),
        }),
      harnesses: (signal) => runtime.harnesses(signal),
      audit: async () => collectAudit(project, runtime, { url: (await started).url, browsers: web.list() }),
      config: async () => configService.describe(),
      reloadConfig: () => configService.reload(),
      ready,
      shutdown: ({ force }) => stop.request(force ? "force" : "drain", "requested over the API"),
    },
    token,
    bind: options.bind ?? settings.bind,
    port: options.port ?? settings.port,
    preferredPort: browsers.lastPort(),
    allowRemote: options.allowRemote,
    allowedHosts: settings.allowed_hosts,
    log,
    version,
    clock,
  });
  return started;
}

/** Applies new settings and records the result, including a refusal. */
function followSettings({ configService, store, clock }: OpenProject, runtime: Runtime): void {
  runtime.agents.explainWith(() => configService.problems);
  configService.onChange(async ({ agents, choice, refusal }, problems) => {
    if (problems.length > 0) {
      await append(store, { type: "config.rejected", session: null, data: { problems } }, clock.now());
      return;
    }
    runtime.agents.replace(agents, choice, refusal);
    runtime.skills.settingsChanged();
    runtime.tools.settingsChanged();
    void runtime.plugins.plugins.reload().catch(() => {});
    // Before the schedules: whether this node stores them depends on the settings of all nodes.
    await runtime.cluster?.describe();
    await runtime.queues.settingsChanged();
    await runtime.schedules.settingsChanged();
    await runtime.channels.channels.settingsChanged();
    const data = { agents: runtime.agents.listAgents().map((agent) => agent.slug), default_agent: choice.slug };
    await append(store, { type: "config.reloaded", session: null, data }, clock.now());
  });
}

async function append(store: Store, event: NewEvent, at: number): Promise<void> {
  await store.transact((tx) => tx.events.append(event, at));
}
