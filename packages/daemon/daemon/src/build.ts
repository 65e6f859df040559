/** The composition root: creates the parts of a daemon and connects them. */
import { join } from "node:path";
import { AgentTable } from "@aegis/agents/agent-table.ts";
import { withheldTool } from "@aegis/agents/rights/rules.ts";
import { PluginChannels } from "@aegis/channels/plugin-channels.ts";
import type { Harness } from "@aegis/contract/api.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { DriverTable } from "@aegis/drivers/driver-table.ts";
import { EventHub } from "@aegis/events/hub.ts";
import type { AgentCommands } from "@aegis/hooks/agent-commands.ts";
import { Clients } from "@aegis/http/mcp-clients.ts";
import type { InstallPlace } from "@aegis/installer/place.ts";
import type { SkillInstaller } from "@aegis/installer/skill/installer.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Logger } from "@aegis/lib/log.ts";
import { OverflowFiles } from "@aegis/lib/overflow.ts";
import type { Processes } from "@aegis/lib/process.ts";
import type { Redact, RedactedStream } from "@aegis/lib/redact.ts";
import { Plane } from "@aegis/mcp-plane/plane.ts";
import { ToolCallLog } from "@aegis/mcp-plane/record.ts";
import { askTools } from "@aegis/mcp-plane/tools/asks.ts";
import { copyTools } from "@aegis/mcp-plane/tools/copies.ts";
import { groupTools } from "@aegis/mcp-plane/tools/groups.ts";
import { metaTool } from "@aegis/mcp-plane/tools/meta.ts";
import { poolTools } from "@aegis/mcp-plane/tools/pool.ts";
import { queueTools } from "@aegis/mcp-plane/tools/queues.ts";
import { sessionTools } from "@aegis/mcp-plane/tools/sessions.ts";
import { subagentTools } from "@aegis/mcp-plane/tools/subagents.ts";
import { workflowTools } from "@aegis/mcp-plane/tools/workflows.ts";
import { unsetRefusal } from "@aegis/project/config/variables.ts";
import { Contents } from "@aegis/project/trust/contents.ts";
import { ConsentCheck } from "@aegis/project/trust/judge.ts";
import type { ProjectTrust } from "@aegis/project/trust/project-trust.ts";
import type { TrustedSettings } from "@aegis/project/trust/trusted-settings.ts";
import { Asks } from "@aegis/sessions/asks/asks.ts";
import { SessionExtensions } from "@aegis/sessions/extensions.ts";
import { type AgentTool, ToolTable } from "@aegis/sessions/tools/tools.ts";
import type { Store } from "@aegis/store/store.ts";
import { createTransact } from "@aegis/store/transact.ts";
import { buildChannels, type ChannelParts } from "./build-channels.ts";
import { buildChecks, type CheckParts } from "./build-checks.ts";
import { buildCluster, type ClusterParts, type Membership, onlyNode } from "./build-cluster.ts";
import { buildConfinement, confineSessions } from "./build-confinement.ts";
import { buildClaims, buildCopies, type CopyParts, type LandingParts } from "./build-copies.ts";
import { buildHooks, type Hooks } from "./build-hooks.ts";
import { buildPlugins, type PluginParts } from "./build-plugins.ts";
import { buildSessions, type SessionParts } from "./build-sessions.ts";
import { buildSkillInstall } from "./build-skill-install.ts";
import { buildSkillCore, buildSkills, type SkillParts } from "./build-skills.ts";
import { buildWork, type WorkParts } from "./build-work.ts";
import type { HostOptions } from "./host.ts";
import { Lifecycle } from "./lifecycle.ts";
import { partsOf } from "./parts.ts";

/** The path of the plane below the daemon's address. */
export const planePath = "/mcp";

export type BuildOptions = {
  root: string;
  stateDir: string;
  /** Where packages are installed. */
  places: Readonly<Record<InstallPlace["scope"], InstallPlace>>;
  store: Store;
  drivers: DriverTable;
  clock: Clock;
  log: Logger;
  processes: Processes;
  /** The environment in which the daemon was started. */
  env: Environment;
  settings: () => TrustedSettings;
  version: string;
  /** Where the daemon listens. Call it only after the server has started. */
  url: () => string;
  /** Redacts a value from everything that is persisted. Returns a function that removes the value. */
  addSecret: (value: string) => () => void;
  redact: Redact;
  /** Like `addSecret`'s redaction, for text that arrives in chunks. */
  redactedStream: () => RedactedStream;
  trust: Pick<ProjectTrust, "trust">;
  /** The place of this daemon in a cluster; absent without one. */
  member?: Membership | undefined;
  /** Aborts when the daemon is forced to stop. */
  signal: AbortSignal;
};

export type Runtime = SessionParts &
  WorkParts &
  CopyParts &
  LandingParts &
  CheckParts & {
    store: Store;
    agents: AgentTable;
    hub: EventHub;
    asks: Asks;
    clients: Clients;
    skills: SkillParts;
    skillInstall: SkillInstaller;
    plugins: PluginParts;
    plane: Plane;
    tools: ToolTable;
    toolCalls: ToolCallLog;
    hooks: Hooks;
    judge: ConsentCheck;
    /** Null without a cluster. */
    cluster: ClusterParts | null;
    channels: ChannelParts;
    harnesses(signal: AbortSignal): Promise<Harness[]>;
    lifecycle: Lifecycle;
  };

/** The path shown to people and agents. */
const overflowFolder = ".aegis/state/overflow";

export function buildRuntime(options: BuildOptions): Runtime {
  const { store, drivers, clock, log, settings, signal, version, url, member } = options;
  const { agents: profiles, choice, refusal } = settings();
  const agents = new AgentTable(profiles, choice, refusal);
  agents.refuseAlso((agent) => unsetRefusal(agent, options.env, settings().diagnostics));
  const judge = new ConsentCheck({
    root: options.root,
    trust: options.trust.trust,
    contents: new Contents(),
    config: () => settings().config,
    madeFrom: (agent) => agents.madeFrom(agent),
  });
  const { redact } = options;
  const transact = createTransact({ store, clock, log, signal });
  const hub = new EventHub(store);
  const askOptions = { store, clock, log, cwd: options.root, stopping: signal };
  const asks = new Asks({ ...askOptions, timeoutMs: () => askTimeoutMs(settings()) });
  const askPerson: HostOptions["askPerson"] = (session, request, abort) => asks.permission(session.id, request, abort);
  const claims = buildClaims(options);
  const hooks = buildHooks({ ...options, transact, permission: askPerson, claims });
  const { commands } = hooks;
  const toolCalls = new ToolCallLog({ store, clock, log, redact });
  const overflow = new OverflowFiles({ dir: join(options.stateDir, "overflow"), shownAs: overflowFolder, log });
  const tools = new ToolTable({
    log,
    clock,
    redact,
    overflow,
    guard: hooks.guard,
    record: (call) => toolCalls.add(call),
    withheld: (tool, agent, place) => withheldTool(tool, agent, place, settings().config.subagents),
  });
  const plane = new Plane({ store, version, log, clock, url: () => `${url()}${planePath}` });
  const extensions = new SessionExtensions();
  const confine = buildConfinement({ ...options, agents });
  const shared = {
    ...options,
    confine,
    overflow,
    judge,
    transact,
    agents,
    extensions,
    claims,
    maxHops: () => settings().config.messages.max_hops,
  };
  const { finish: finishCopies, ...copies } = buildCopies(shared);
  const core = buildSkillCore(shared);
  const sessionParts = buildSessions({
    ...shared,
    confine: confineSessions(confine, options.processes),
    tools,
    hub,
    plane,
    hooks,
    skills: core,
    askPerson,
  });
  const { turns, conversations, inbox } = sessionParts;
  const settle = async (session: SessionId) => {
    await turns.interrupt(session);
    await conversations.close(session);
  };
  const checkParts = buildChecks({ ...shared, ...sessionParts, ...copies });
  const landing = finishCopies({ settle, inbox, ...checkParts });
  const work = buildWork({ ...shared, ...sessionParts, ...checkParts, asks, commands });
  const { workflows, reducers, subagents } = work;
  const { installer: skillInstall, tools: moreTools } = buildSkillInstall({ ...options, asks });
  const skills = buildSkills({ ...shared, ...sessionParts, core, tools, subagents, moreTools });
  hooks.extend(extensions, { ...sessionParts, skills });
  for (const tool of planeTools({ ...sessionParts, ...work, ...copies, store, agents, asks, commands, clock }))
    tools.add(tool);
  skills.settingsChanged();
  tools.add(metaTool(tools));
  const pluginChannels = new PluginChannels();
  const filled = { store, agents, tools, hooks: hooks.table, workflows, reducers, skills: skills.skills };
  const plugins = buildPlugins({ ...options, ...filled, judge, pluginChannels, confine });
  judge.usePlugins((name) => plugins.plugins.placeOf(name));
  hooks.onFailure((call) => plugins.plugins.hookFailed(call));
  const channels = buildChannels({ ...options, ...sessionParts, ...work, asks, agents, hub, pluginChannels });
  const channelsNode = () => channels.node();
  const runtime = {
    ...sessionParts,
    ...work,
    ...copies,
    ...landing,
    ...checkParts,
    store,
    agents,
    hub,
    asks,
    clients: new Clients({ store, clock, log }),
    skills,
    skillInstall,
    plugins,
    plane,
    tools,
    toolCalls,
    hooks,
    judge,
    channels,
    harnesses: (abort: AbortSignal) => probeAll(drivers, abort),
  };
  const parts = partsOf({ runtime, clock, log });
  const cluster =
    member === undefined ? null : buildCluster({ ...options, ...sessionParts, ...work, member, parts, channelsNode });
  const all = cluster === null ? [onlyNode(store), ...parts] : [cluster.first, ...parts, cluster.last];
  return { ...runtime, cluster, lifecycle: new Lifecycle(all, store) };
}

function askTimeoutMs({ config }: TrustedSettings): number | null {
  const { timeout } = config.asks;
  return timeout === "turn" ? null : timeout * 1000;
}

type PlaneParts = SessionParts &
  WorkParts &
  CopyParts & { store: Store; agents: AgentTable; asks: Asks; commands: AgentCommands; clock: Clock };

function planeTools(parts: PlaneParts): AgentTool[] {
  return [
    ...sessionTools(parts),
    ...askTools(parts.asks),
    ...subagentTools(parts),
    ...poolTools(parts),
    ...queueTools(parts),
    ...groupTools(parts),
    ...workflowTools(parts),
    ...copyTools(parts),
  ];
}

async function probeAll(drivers: DriverTable, signal: AbortSignal): Promise<Harness[]> {
  return Promise.all(
    drivers.all().map(async (driver) => ({ harness: driver.harness, ...(await driver.probe(signal)) })),
  );
}
