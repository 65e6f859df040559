/** Serves the API: connects the services of HTTP to the parts of the daemon. */
import { createServer, type RunningServer } from "@aegis/http/server.ts";
import { shownWithout } from "@aegis/http/shown.ts";
import { WebAccess } from "@aegis/http/web/access.ts";
import { editAsOwner } from "@aegis/project/trust/agree.ts";
import { whyMessage } from "@aegis/sessions/inbox/why.ts";
import { usageReport } from "@aegis/sessions/usage-report.ts";
import { agentService } from "./agent-service.ts";
import { collectAudit } from "./audit/collect.ts";
import { browsersFile } from "./browsers.ts";
import { planePath, type Runtime } from "./build.ts";
import { buildCommands } from "./build-commands.ts";
import { buildPluginChanges } from "./build-plugin-install.ts";
import { scheduleEditor } from "./build-schedules.ts";
import type { OpenProject } from "./open-project.ts";
import type { Readiness } from "./readiness.ts";
import { readStatus } from "./status.ts";
import type { StopSignals } from "./stop-signals.ts";

export type ServeOptions = {
  project: OpenProject;
  runtime: Runtime;
  stop: StopSignals;
  ready: Readiness;
  token: string;
  /** Instead of those of the configuration. */
  bind: string | undefined;
  port: number | undefined;
  /** Listening on a non-loopback address requires this flag. */
  allowRemote: boolean;
};

/** Resolves when the daemon listens. */
export function serve({
  project,
  runtime,
  stop,
  ready,
  token,
  bind,
  port,
  allowRemote,
}: ServeOptions): Promise<RunningServer> {
  const { root, stateDir, env, configService, clock, log, version, drivers } = project;
  const harnesses = drivers.names;
  const { server: settings } = configService.settings().config;
  const startedAt = clock.now();
  const browsers = browsersFile({ root, stateDir, key: project.state.key, log });
  const web = new WebAccess({ clock, store: browsers.store(async () => (await started).port) });
  const { agents, tools } = runtime;
  const started: Promise<RunningServer> = createServer({
    services: {
      agents: agentService({ root, env, drivers, agents, tools, configService }),
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
        env,
        harnesses,
        place: project.places.project,
        plugins: runtime.plugins.plugins,
        reload: () => configService.reload(),
      }),
      commands: buildCommands({ root, env, judge: runtime.judge, table: runtime.plugins.commands }),
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
        harnesses,
        asOwner: (edit) => editAsOwner({ root, env, harnesses }, edit),
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
    bind: bind ?? settings.bind,
    port: port ?? settings.port,
    preferredPort: browsers.lastPort(),
    allowRemote,
    allowedHosts: settings.allowed_hosts,
    log,
    version,
    clock,
  });
  return started;
}
