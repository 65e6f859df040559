/** The composition root: creates the parts of a daemon and connects them. */
import { join } from "node:path";
import { AgentTable } from "@aegis/agents/agent-table.ts";
import { withheldTool } from "@aegis/agents/rights/rules.ts";
import { PluginChannels } from "@aegis/channels/plugin-channels.ts";
import type { Harness } from "@aegis/contract/api.ts";
import type { DriverTable } from "@aegis/drivers/driver-table.ts";
import { EventHub } from "@aegis/events/hub.ts";
import { Clients } from "@aegis/http/mcp-clients.ts";
import type { SkillInstaller } from "@aegis/installer/skill/installer.ts";
import { OverflowFiles } from "@aegis/lib/overflow.ts";
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
import type { TrustedSettings } from "@aegis/project/trust/trusted-settings.ts";
import { Asks } from "@aegis/sessions/asks/asks.ts";
import { SessionExtensions } from "@aegis/sessions/extensions.ts";
import { type AgentTool, ToolTable } from "@aegis/sessions/tools/tools.ts";
import type { Store } from "@aegis/store/store.ts";
import { createTransact } from "@aegis/store/transact.ts";
import type { FileClaims } from "@aegis/worktrees/claims/claims.ts";
import { buildChannels, type ChannelParts } from "./build-channels.ts";
import { buildChecks, type CheckParts } from "./build-checks.ts";
import { buildCluster, type ClusterParts, onlyNode } from "./build-cluster.ts";
import { buildConfinement, confineSessions } from "./build-confinement.ts";
import { buildClaims, buildCopies, buildLanding, type CopyParts, type LandingParts } from "./build-copies.ts";
import { buildHooks, connectTurnHooks, type Hooks } from "./build-hooks.ts";
import type { BuildOptions } from "./build-options.ts";
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
    claims: FileClaims;
    /** Null without a cluster. */
    cluster: ClusterParts | null;
    channels: ChannelParts;
    harnesses(signal: AbortSignal): Promise<Harness[]>;
    lifecycle: Lifecycle;
  };

/** The path shown to people and agents. */
const overflowFolder = ".aegis/state/overflow";

export function buildRuntime(options: BuildOptions): Runtime {
  const { root, stateDir, places, store, drivers, clock, log, processes, env, settings, version, url } = options;
  const { addSecret, redact, redactedStream, trust, member, signal } = options;
  const { agents: profiles, choice, refusal } = settings();
  const agents = new AgentTable(profiles, choice, refusal);
  agents.refuseAlso((agent) => unsetRefusal(agent, env, settings().diagnostics));
  const judge = new ConsentCheck({
    root,
    trust: trust.trust,
    contents: new Contents(),
    config: () => settings().config,
    madeFrom: (agent) => agents.madeFrom(agent),
    // No code of a plugin runs before its plugin is loaded.
    pluginFolder: (name) => plugins.plugins.placeOf(name),
  });
  const transact = createTransact({ store, clock, log, signal });
  const hub = new EventHub(store);
  const timeoutMs = () => askTimeoutMs(settings());
  const asks = new Asks({ store, clock, log, cwd: root, stopping: signal, timeoutMs });
  const askPerson: HostOptions["askPerson"] = (session, request, abort) => asks.permission(session.id, request, abort);
  const claims = buildClaims({ root, store, clock, log, redact, settings });
  const hooks = buildHooks({
    root,
    stateDir,
    store,
    drivers,
    clock,
    log,
    env,
    settings,
    version,
    signal,
    transact,
    redact,
    permission: askPerson,
    claims,
    working: () => turns.working(),
    failed: (call) => plugins.plugins.hookFailed(call),
  });
  const { commands } = hooks;
  const toolCalls = new ToolCallLog({ store, clock, log, redact });
  const overflow = new OverflowFiles({ dir: join(stateDir, "overflow"), shownAs: overflowFolder, log });
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
  const confine = buildConfinement({ root, stateDir, env, processes, settings, store, agents, log });
  const maxHops = () => settings().config.messages.max_hops;
  const core = buildSkillCore({ root, clock, log, env, settings, judge, agents });
  const sessionParts: SessionParts = buildSessions({
    root,
    stateDir,
    store,
    transact,
    drivers,
    clock,
    log,
    env,
    settings,
    signal,
    redact,
    redactedStream,
    judge,
    agents,
    tools,
    hub,
    overflow,
    plane,
    hooks,
    skills: core,
    extensions,
    askPerson,
    confine: confineSessions(confine, { env, processes }),
    maxHops,
  });
  const { inbox, attachments, conversations, turns, sessions, sessionProcesses, liveText } = sessionParts;
  const copies = buildCopies({
    root,
    store,
    clock,
    log,
    processes,
    env,
    settings,
    signal,
    extensions,
    judge,
    claims,
    confine,
  });
  const { boundaries, changes, rescues, landing } = copies;
  const checkParts = buildChecks({
    root,
    store,
    clock,
    confine,
    env,
    settings,
    redact,
    inbox,
    sessions,
    extensions,
    boundaries,
    judge,
  });
  const { checks, receipts, checkConsent } = checkParts;
  const landingParts = buildLanding({
    root,
    store,
    clock,
    log,
    processes,
    env,
    settings,
    signal,
    boundaries,
    rescues,
    landing,
    inbox,
    turns,
    conversations,
    checks,
    receipts,
    checkConsent,
  });
  const work = buildWork({
    root,
    stateDir,
    store,
    transact,
    clock,
    log,
    confine,
    env,
    settings,
    signal,
    redactedStream,
    agents,
    asks,
    commands,
    judge,
    extensions,
    maxHops,
    checks,
    receipts,
    checkConsent,
    inbox,
    sessions,
    sessionProcesses,
    conversations,
  });
  const { subagents, pool, queues, groups, broadcasts, reducers, workflows, schedules } = work;
  const { installer: skillInstall, tools: moreTools } = buildSkillInstall({
    root,
    places,
    clock,
    log,
    processes,
    env,
    settings,
    asks,
    store,
  });
  const skills = buildSkills({
    root,
    store,
    clock,
    log,
    env,
    settings,
    judge,
    agents,
    core,
    tools,
    turns,
    subagents,
    extensions,
    signal,
    moreTools,
  });
  connectTurnHooks({ root, store, extensions, hooks, conversations, skills });
  const planeTools: readonly AgentTool[] = [
    ...sessionTools({ store, sessions, inbox, turns, agents }),
    ...askTools(asks),
    ...subagentTools({ subagents, turns, clock, commands }),
    ...poolTools({ pool, turns }),
    ...queueTools({ store, queues, turns, agents, commands }),
    ...groupTools({ store, groups, broadcasts, turns, agents }),
    ...workflowTools({ workflows, turns }),
    ...copyTools({ sessions, changes, claims }),
  ];
  for (const tool of planeTools) tools.add(tool);
  skills.settingsChanged();
  tools.add(metaTool(tools));
  const pluginChannels = new PluginChannels();
  const plugins: PluginParts = buildPlugins({
    root,
    stateDir,
    store,
    clock,
    log,
    env,
    processes,
    settings,
    version,
    addSecret,
    redact,
    judge,
    confine,
    agents,
    tools,
    hooks: hooks.table,
    workflows,
    reducers,
    pluginChannels,
    skills: skills.skills,
  });
  const channels = buildChannels({
    root,
    stateDir,
    env,
    clock,
    log,
    settings,
    addSecret,
    processes,
    redact,
    inbox,
    sessions,
    attachments,
    queues,
    store,
    asks,
    agents,
    hub,
    pluginChannels,
  });
  const runtime = {
    ...sessionParts,
    ...work,
    ...copies,
    ...landingParts,
    ...checkParts,
    claims,
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
    member === undefined
      ? null
      : buildCluster({
          store,
          clock,
          log,
          drivers,
          member,
          inbox,
          sessions,
          turns,
          conversations,
          queues,
          schedules,
          parts,
          commandsOfNodes: sessionParts.commandsOfNodes,
          liveText,
          settings,
          url,
          channelsNode: () => channels.node(),
        });
  const all = cluster === null ? [onlyNode(store), ...parts] : [cluster.first, ...parts, cluster.last];
  return { ...runtime, cluster, lifecycle: new Lifecycle(all, store) };
}

function askTimeoutMs({ config }: TrustedSettings): number | null {
  const { timeout } = config.asks;
  return timeout === "turn" ? null : timeout * 1000;
}

async function probeAll(drivers: DriverTable, signal: AbortSignal): Promise<Harness[]> {
  return Promise.all(
    drivers.all().map(async (driver) => ({ harness: driver.harness, ...(await driver.probe(signal)) })),
  );
}
