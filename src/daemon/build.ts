/** The composition root: makes the parts of a daemon and ties them together. */
import type { Harness } from "../contract/api.ts";
import type { Environment } from "../lib/child-env.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/log.ts";
import type { Processes } from "../lib/process.ts";
import type { Redact } from "../lib/redact.ts";
import { Plane } from "../plane/plane.ts";
import { ToolCallLog } from "../plane/record.ts";
import { askTools } from "../plane/tools/asks.ts";
import { groupTools } from "../plane/tools/groups.ts";
import { metaTool } from "../plane/tools/meta.ts";
import { poolTools } from "../plane/tools/pool.ts";
import { queueTools } from "../plane/tools/queues.ts";
import { sessionTools } from "../plane/tools/sessions.ts";
import { subagentTools } from "../plane/tools/subagents.ts";
import { workflowTools } from "../plane/tools/workflows.ts";
import { Asks } from "../runtime/asks/asks.ts";
import { EventHub } from "../runtime/events/hub.ts";
import { AgentRegistry } from "../runtime/registry/agents.ts";
import type { DriverRegistry } from "../runtime/registry/drivers.ts";
import { type Tool, ToolRegistry } from "../runtime/registry/tools.ts";
import type { Recovered } from "../runtime/sessions/recover.ts";
import type { SkillInstaller } from "../runtime/skills/install/installer.ts";
import { createPersist } from "../store/persist.ts";
import type { Store } from "../store/store.ts";
import { buildHooks, type Hooks } from "./build-hooks.ts";
import { buildPlugins, type PluginParts } from "./build-plugins.ts";
import { buildSessions, type SessionParts } from "./build-sessions.ts";
import { buildSkillInstall } from "./build-skill-install.ts";
import { buildSkills, type SkillParts } from "./build-skills.ts";
import { buildTeamwork, type Teamwork } from "./build-teamwork.ts";
import type { ProjectTrust } from "./build-trust.ts";
import type { HostOptions } from "./host.ts";
import type { Gated } from "./trust/gate.ts";

/** Where harnesses reach the plane, below the daemon's address. */
export const planePath = "/mcp";

export type BuildOptions = {
  root: string;
  stateDir: string;
  store: Store;
  drivers: DriverRegistry;
  clock: Clock;
  log: Logger;
  processes: Processes;
  /** The environment the daemon was started in. */
  env: Environment;
  settings: () => Gated;
  version: string;
  /** Where the daemon listens; asked for once it does. */
  url: () => string;
  /** Keeps a value out of everything that is written down. Returns its undo. */
  addSecret: (value: string) => () => void;
  redact: Redact;
  trust: Pick<ProjectTrust, "trust">;
  /** Aborts when the daemon may no longer wait for anything. */
  signal: AbortSignal;
};

export type Runtime = SessionParts &
  Teamwork & {
    /** For everybody who admits messages: plugins see them before they are written. */
    store: Store;
    agents: AgentRegistry;
    hub: EventHub;
    asks: Asks;
    skills: SkillParts;
    skillInstall: SkillInstaller;
    plugins: PluginParts;
    plane: Plane;
    tools: ToolRegistry;
    toolCalls: ToolCallLog;
    hooks: Hooks;
    harnesses(signal: AbortSignal): Promise<Harness[]>;
    recover(): Promise<Recovered>;
  };

export function buildRuntime(options: BuildOptions): Runtime {
  const { drivers, clock, log, settings, signal, version, url } = options;
  const { agents: profiles, choice, refusal } = settings();
  const agents = new AgentRegistry(profiles, choice, refusal);
  // Hooks, skills, sessions and teamwork point at each other; these closures are called only once all of them exist.
  const askPerson: HostOptions["askPerson"] = (session, request, abort) => asks.permission(session.id, request, abort);
  const hooks = buildHooks({
    ...options,
    permission: askPerson,
    systemPrompt: (session) => sessionParts.conversations.systemPrompt(session),
    skillsFor: (session, text, abort) => skills.ranked(session, text, abort),
  });
  const { store } = hooks;
  const toolCalls = new ToolCallLog({ store, clock, log, redact: options.redact });
  const tools = new ToolRegistry({ log, clock, guard: hooks.guard, record: (call) => toolCalls.add(call) });
  const hub = new EventHub(store);
  const asks = new Asks({ store, clock, log, timeoutMs: () => settings().config.asks.timeout * 1000 });
  const plane = new Plane({ store, version, log, url: () => `${url()}${planePath}` });
  const { installer: skillInstall, tools: moreTools } = buildSkillInstall({ ...options, asks });
  const skills = buildSkills({
    ...options,
    agents,
    tools,
    moreTools,
    turns: () => sessionParts.turns,
    subagents: () => teamwork.subagents,
    remembers: (session) => sessionParts.remembers(session),
  });
  const shared = {
    ...options,
    store,
    persist: createPersist({ store, clock, log, signal }),
    agents,
    maxHops: () => settings().config.messages.max_hops,
  };
  const sessionParts: SessionParts = buildSessions({
    ...{ ...shared, tools, hub, plane, hooks, skills, askPerson },
    briefing: (session) => teamwork.subagents.briefing(session),
  });
  const teamwork: Teamwork = buildTeamwork({ ...shared, ...sessionParts, asks });
  for (const tool of planeTools({ ...sessionParts, ...teamwork, agents, asks, clock })) tools.add(tool);
  skills.settingsChanged();
  tools.add(metaTool(tools));
  const { workflows, reducers, subagents, pool, groups, broadcasts } = teamwork;
  const filled = { store, agents, tools, hooks: hooks.registry, workflows, reducers, skills: skills.skills };
  const plugins = buildPlugins({ ...options, ...filled });
  return {
    ...sessionParts,
    ...teamwork,
    store,
    agents,
    hub,
    asks,
    skills,
    skillInstall,
    plugins,
    plane,
    tools,
    toolCalls,
    hooks,
    harnesses: (abort) => probeAll(drivers, abort),
    async recover() {
      await skillInstall.recover(signal);
      const ended = await subagents.recover();
      if (ended.interrupted > 0) log.warn("subagents were at work when Aegis stopped", ended);
      await pool.recover();
      const recovered = await sessionParts.recoverTurns();
      await groups.resume();
      await broadcasts.resume();
      await subagents.start();
      return recovered;
    },
  };
}

function planeTools(parts: SessionParts & Teamwork & { agents: AgentRegistry; asks: Asks; clock: Clock }): Tool[] {
  return [
    ...sessionTools(parts),
    ...askTools(parts.asks),
    ...subagentTools(parts),
    ...poolTools(parts),
    ...queueTools(parts),
    ...groupTools(parts),
    ...workflowTools(parts),
  ];
}

async function probeAll(drivers: DriverRegistry, signal: AbortSignal): Promise<Harness[]> {
  return Promise.all(
    drivers.all().map(async (driver) => ({ harness: driver.harness, ...(await driver.probe(signal)) })),
  );
}
