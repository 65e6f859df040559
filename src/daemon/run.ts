/** The life of a daemon: start, serve, pick up changed settings, stop without losing anything. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { NewEvent } from "../contract/event.ts";
import { processStartTime, removeDaemonFile, writeDaemonFile } from "../lib/daemon-file.ts";
import { errorText } from "../lib/log.ts";
import { aborted } from "../lib/until-aborted.ts";
import { createQueueMirror, createRunMirror, createScheduleMirror } from "../runtime/events/mirror.ts";
import { createToolMirror } from "../runtime/events/tool-mirror.ts";
import { createLedgers } from "../runtime/workflows/ledger.ts";
import { createServer, type RunningServer } from "../server/server.ts";
import type { Store } from "../store/store.ts";
import { costDiagnostics } from "./agents/costs.ts";
import { agentDiagnostics, describeAgent } from "./agents/describe.ts";
import { buildRuntime, planePath, type Runtime } from "./build.ts";
import { buildCommands } from "./build-commands.ts";
import { scheduleService } from "./build-schedules.ts";
import { type Foundation, type FoundationOptions, layFoundation } from "./foundation.ts";
import { createDoor } from "./skills/door.ts";
import { skillService } from "./skills/service.ts";
import { readStatus } from "./status.ts";
import { StopSignals } from "./stop-signals.ts";
import { readToken } from "./token.ts";
import { editAsOwner } from "./trust/agree.ts";
import { watchProject } from "./watch-project.ts";

export type DaemonOptions = FoundationOptions & {
  port?: number;
  bind?: string;
  /** Listening beyond this machine needs this flag besides the address. */
  allowRemote: boolean;
};

/** How long turns under way may go on after the first request to stop. */
const drainDeadlineMs = 10_000;

/** Runs until it is told to stop. Throws when it cannot start; nothing is left running or half-written then. */
export async function runDaemon(options: DaemonOptions): Promise<void> {
  await using scope = new AsyncDisposableStack();
  const foundation = await layFoundation(options, scope);
  const { root, stateDir, version, clock, log, secrets, keeper, store } = foundation;
  const stop = new StopSignals(scope, log);

  const runtime = buildRuntime({
    ...foundation,
    settings: () => keeper.current,
    url: () => server.url,
    addSecret: (value) => secrets.add(value),
    redact: (text) => secrets.redact(text),
    signal: stop.forced,
  });
  scope.defer(() => runtime.plugins.plugins.close());
  scope.defer(() => runtime.conversations.closeAll());
  // What recovery admits must not begin a turn before plugins are loaded and harnesses can reach the plane.
  runtime.sessions.rest();
  const recovered = await runtime.recover();
  if (recovered.turns > 0) log.warn("recovered from a stop in the middle of work", recovered);
  const redact = (text: string) => secrets.redact(text);
  const mirror = await createQueueMirror({ store, dir: join(stateDir, "queues"), redact, log });
  scope.defer(() => mirror.close());
  const runMirror = await createRunMirror({ store, dir: join(stateDir, "workflows"), redact, log });
  scope.defer(() => runMirror.close());
  const scheduleMirror = await createScheduleMirror({ store, dir: join(stateDir, "schedules"), redact, log });
  scope.defer(() => scheduleMirror.close());
  const toolMirror = await createToolMirror({ store, dir: join(stateDir, "tools"), redact, log });
  scope.defer(() => toolMirror.close());
  const ledgers = await createLedgers({ store, dir: stateDir, log });
  scope.defer(() => ledgers.close());
  const tasks = await runtime.queues.recover();
  if (tasks.interrupted > 0) log.warn("tasks were under way when Aegis stopped", tasks);

  // Before anybody can start a turn: what plugins must see or refuse, they see and refuse from the first one on.
  await runtime.plugins.plugins.reload();
  const token = await readToken(root, keeper.current.config.server.token_file);
  secrets.add(token);
  const server = await serve(options, foundation, runtime, stop, token);
  scope.defer(() => server.close());
  scope.defer(() => runtime.plane.close());
  scope.defer(server.mount(planePath, (request, text) => runtime.plane.fetch(request, text)));

  await append(store, { type: "daemon.started", session: null, data: { version, pid: process.pid } }, clock.now());
  followSettings(foundation, runtime);
  scope.defer(keeper.watch());
  scope.defer(await watchProject(root, stateDir, () => stop.request("force", "the project's folder is gone")));
  scope.defer(await announce(root, server.url, token, version));
  const { choice } = keeper.current;
  for (const { agent, message } of costDiagnostics({ ...foundation, ...runtime, config: () => keeper.current.config }))
    log.warn(message, { agent });
  log.info("aegis is up", { url: server.url, project: root, agent: choice.slug, why: choice.why });
  runtime.hooks.started();
  await runtime.asks.resume();
  await runtime.sessions.wakeAll();
  await runtime.queues.start();
  const resumed = await runtime.workflows.launch();
  if (resumed.length > 0) log.info("runs were taken up again", { runs: resumed.map((run) => run.id) });
  await runtime.schedules.start();

  const reason = await stop.requested;
  log.info("stopping", { reason, turns: runtime.turns.count });
  await append(store, { type: "daemon.stopping", session: null, data: { reason } }, clock.now()).catch(
    (error: unknown) => log.warn("the stop could not be recorded", { error: errorText(error) }),
  );
  await windDown(runtime, stop.forced);
  await runtime.hooks.close(reason, stop.forced);
}

function serve(
  options: DaemonOptions,
  foundation: Foundation,
  runtime: Runtime,
  stop: StopSignals,
  token: string,
): Promise<RunningServer> {
  const { root, keeper, clock, log, version } = foundation;
  const { server: settings } = keeper.current.config;
  const startedAt = clock.now();
  const { agents, tools } = runtime;
  const described = {
    agents,
    tools,
    drivers: foundation.drivers,
    config: () => keeper.current.config,
    fileDiagnostics: () => keeper.current.diagnostics,
  };
  const started: Promise<RunningServer> = createServer({
    services: {
      agents: {
        list: () => runtime.agents.listAgents(),
        diagnostics: () => agentDiagnostics(described),
        describe: (reference) => describeAgent(described, reference),
      },
      sessions: runtime.sessions,
      inbox: runtime.inbox,
      attachments: runtime.attachments,
      asks: runtime.asks,
      queues: runtime.queues,
      subagents: runtime.subagents,
      pool: runtime.pool,
      groups: runtime.groups,
      broadcasts: runtime.broadcasts,
      workflows: runtime.workflows,
      plugins: runtime.plugins.plugins,
      commands: buildCommands({ ...foundation, ...runtime, registry: runtime.plugins.commands }),
      skills: skillService(runtime),
      skillInstall: runtime.skillInstall,
      door: createDoor({ ...foundation, ...runtime, router: runtime.skills.router, signal: stop.forced }),
      schedules: scheduleService({
        root,
        schedules: runtime.schedules,
        harnesses: foundation.drivers.names,
        asOwner: (edit) => editAsOwner({ ...foundation, harnesses: foundation.drivers.names }, edit),
        reload: () => keeper.reload(),
      }),
      events: runtime.hub,
      status: async () =>
        readStatus(foundation, { url: (await started).url, startedAt, stopping: stop.isRequested, agents }),
      harnesses: (signal) => runtime.harnesses(signal),
      config: async () => keeper.describe(),
      reloadConfig: () => keeper.reload(),
      shutdown: ({ force }) => stop.request(force ? "force" : "drain", "asked over the API"),
    },
    token,
    bind: options.bind ?? settings.bind,
    port: options.port ?? settings.port,
    allowRemote: options.allowRemote,
    allowedHosts: settings.allowed_hosts,
    log,
    version,
    clock,
  });
  return started;
}

/** Takes new settings over and records it, also when they were refused. */
function followSettings({ keeper, store, clock }: Foundation, runtime: Runtime): void {
  keeper.onChange(async ({ agents, choice, refusal }, problems) => {
    if (problems.length > 0) {
      await append(store, { type: "config.rejected", session: null, data: { problems } }, clock.now());
      return;
    }
    runtime.agents.replace(agents, choice, refusal);
    runtime.skills.settingsChanged();
    void runtime.plugins.plugins.reload().catch(() => {});
    await runtime.queues.settingsChanged();
    await runtime.schedules.settingsChanged();
    const data = { agents: runtime.agents.listAgents().map((agent) => agent.slug), default_agent: choice.slug };
    await append(store, { type: "config.reloaded", session: null, data }, clock.now());
  });
}

/** Tells clients where the daemon is. Returns its undo. */
async function announce(root: string, url: string, token: string, version: string): Promise<() => Promise<void>> {
  const id = randomBytes(8).toString("hex");
  const start_time = (await processStartTime(process.pid)) ?? "";
  await writeDaemonFile(root, { pid: process.pid, start_time, url, token, version, id });
  return async () => {
    await removeDaemonFile(root, id);
  };
}

/**
 * Lets turns finish up to a deadline. What is still under way then is left as a crash would leave it, so that the next
 * start takes it up again.
 */
async function windDown(runtime: Runtime, forced: AbortSignal): Promise<void> {
  const deadline = AbortSignal.any([forced, AbortSignal.timeout(drainDeadlineMs)]);
  await Promise.race([runtime.schedules.stop(), aborted(deadline)]);
  runtime.queues.stop();
  await runtime.workflows.stop();
  await Promise.race([runtime.sessions.stop(), aborted(deadline)]);
  runtime.asks.stop();
  runtime.subagents.stop();
  runtime.pool.stop();
  await runtime.turns.abandon();
  await Promise.race([Promise.all([runtime.queues.settled(), runtime.subagents.settled()]), aborted(deadline)]);
  await runtime.toolCalls.flush();
}

async function append(store: Store, event: NewEvent, at: number): Promise<void> {
  await store.transact((tx) => tx.events.append(event, at));
}
