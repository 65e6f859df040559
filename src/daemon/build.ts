/** The composition root: creates the parts of a daemon and connects them. */
import { join } from "node:path";
import { PluginChannels } from "../channels/plugin-channels.ts";
import type { Harness } from "../contract/api.ts";
import type { SessionId } from "../contract/ids.ts";
import type { Environment } from "../lib/child-env.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/log.ts";
import { OverflowFiles } from "../lib/overflow.ts";
import type { Processes } from "../lib/process.ts";
import type { Redact, RedactedStream } from "../lib/redact.ts";
import type { Place } from "../packages/place.ts";
import type { SkillInstaller } from "../packages/skill/installer.ts";
import { Plane } from "../plane/plane.ts";
import { ToolCallLog } from "../plane/record.ts";
import { askTools } from "../plane/tools/asks.ts";
import { copyTools } from "../plane/tools/copies.ts";
import { groupTools } from "../plane/tools/groups.ts";
import { metaTool } from "../plane/tools/meta.ts";
import { poolTools } from "../plane/tools/pool.ts";
import { queueTools } from "../plane/tools/queues.ts";
import { sessionTools } from "../plane/tools/sessions.ts";
import { subagentTools } from "../plane/tools/subagents.ts";
import { workflowTools } from "../plane/tools/workflows.ts";
import { unsetRefusal } from "../project/config/variables.ts";
import { Contents } from "../project/trust/contents.ts";
import { ConsentCheck } from "../project/trust/judge.ts";
import type { ProjectTrust } from "../project/trust/project-trust.ts";
import type { TrustedSettings } from "../project/trust/trusted-settings.ts";
import { Asks } from "../runtime/asks/asks.ts";
import { Clients } from "../runtime/clients/clients.ts";
import { EventHub } from "../runtime/events/hub.ts";
import type { AgentCommands } from "../runtime/hooks/agent-commands.ts";
import { withheldTool } from "../runtime/rights/rules.ts";
import { SessionExtensions } from "../runtime/sessions/extensions.ts";
import { AgentTable } from "../runtime/tables/agents.ts";
import type { DriverTable } from "../runtime/tables/drivers.ts";
import { type Tool, ToolTable } from "../runtime/tables/tools.ts";
import type { Store } from "../store/store.ts";
import { createTransact } from "../store/transact.ts";
import { buildChannels, type ChannelParts } from "./build-channels.ts";
import { buildChecks, type CheckParts } from "./build-checks.ts";
import { buildCluster, type ClusterParts, type Membership } from "./build-cluster.ts";
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
  places: Readonly<Record<Place["scope"], Place>>;
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
    ...{ log, clock, redact, overflow },
    guard: hooks.guard,
    record: (call) => toolCalls.add(call),
    withheld: (tool, agent, place) => withheldTool(tool, agent, place, settings().config.subagents),
  });
  const plane = new Plane({ store, version, log, clock, url: () => `${url()}${planePath}` });
  const extensions = new SessionExtensions();
  const shared = {
    ...options,
    ...{ overflow, judge, transact, agents, extensions, claims },
    maxHops: () => settings().config.messages.max_hops,
  };
  const { finish: finishCopies, ...copies } = buildCopies(shared);
  const core = buildSkillCore(shared);
  const sessionParts = buildSessions({ ...shared, tools, hub, plane, hooks, skills: core, askPerson });
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
  const plugins = buildPlugins({ ...options, ...filled, judge, pluginChannels });
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
    cluster:
      member === undefined ? null : buildCluster({ ...options, ...sessionParts, ...work, asks, member, channelsNode }),
    harnesses: (abort: AbortSignal) => probeAll(drivers, abort),
  };
  return { ...runtime, lifecycle: new Lifecycle(partsOf({ runtime, log })) };
}

function askTimeoutMs({ config }: TrustedSettings): number | null {
  const { timeout } = config.asks;
  return timeout === "turn" ? null : timeout * 1000;
}

type PlaneParts = SessionParts &
  WorkParts &
  CopyParts & { store: Store; agents: AgentTable; asks: Asks; commands: AgentCommands; clock: Clock };

function planeTools(parts: PlaneParts): Tool[] {
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
