/** The composition root: makes the parts of a daemon and ties them together. */
import { join } from "node:path";
import type { Harness } from "../contract/api.ts";
import type { SessionId } from "../contract/ids.ts";
import { mayUsePlane } from "../contract/scope.ts";
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
import { Broadcasts } from "../runtime/groups/broadcasts.ts";
import { Groups } from "../runtime/groups/groups.ts";
import { ReducerRegistry } from "../runtime/groups/reducers.ts";
import { Attachments } from "../runtime/inbox/attachments.ts";
import { Inbox } from "../runtime/inbox/inbox.ts";
import { Pool } from "../runtime/pool/pool.ts";
import { Queues } from "../runtime/queues/queues.ts";
import type { StillWaiting } from "../runtime/queues/verdict.ts";
import { AgentRegistry } from "../runtime/registry/agents.ts";
import type { DriverRegistry } from "../runtime/registry/drivers.ts";
import { ToolRegistry } from "../runtime/registry/tools.ts";
import type { Schedules } from "../runtime/schedules/schedules.ts";
import { tellBlocked } from "../runtime/sessions/blocked.ts";
import { Conversations } from "../runtime/sessions/conversations.ts";
import { type Recovered, recover } from "../runtime/sessions/recover.ts";
import { Sessions } from "../runtime/sessions/sessions.ts";
import { Turns } from "../runtime/sessions/turns.ts";
import type { SkillInstaller } from "../runtime/skills/install/installer.ts";
import { Subagents } from "../runtime/subagents/subagents.ts";
import type { Workflows } from "../runtime/workflows/workflows.ts";
import { createPersist } from "../store/persist.ts";
import type { SessionRow, Store } from "../store/store.ts";
import { buildHooks, type Hooks } from "./build-hooks.ts";
import { buildPlugins, type PluginParts } from "./build-plugins.ts";
import { buildSchedules } from "./build-schedules.ts";
import { buildSkillInstall } from "./build-skill-install.ts";
import { buildSkills, type SkillParts } from "./build-skills.ts";
import type { ProjectTrust } from "./build-trust.ts";
import { buildWorkflows } from "./build-workflows.ts";
import { declaredQueues } from "./declared-queues.ts";
import { createHost, type HostOptions } from "./host.ts";
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

export type Runtime = {
  /** For everybody who admits messages: plugins see them before they are written. */
  store: Store;
  agents: AgentRegistry;
  hub: EventHub;
  inbox: Inbox;
  attachments: Attachments;
  asks: Asks;
  subagents: Subagents;
  pool: Pool;
  queues: Queues;
  groups: Groups;
  broadcasts: Broadcasts;
  reducers: ReducerRegistry;
  workflows: Workflows;
  skills: SkillParts;
  skillInstall: SkillInstaller;
  schedules: Schedules;
  plugins: PluginParts;
  plane: Plane;
  sessions: Sessions;
  turns: Turns;
  conversations: Conversations;
  tools: ToolRegistry;
  toolCalls: ToolCallLog;
  hooks: Hooks;
  harnesses(signal: AbortSignal): Promise<Harness[]>;
  recover(): Promise<Recovered>;
};

export function buildRuntime(options: BuildOptions): Runtime {
  const { root, stateDir, drivers, clock, log, settings, signal, version, url, addSecret } = options;
  const { agents: profiles, choice, refusal } = settings();
  const agents = new AgentRegistry(profiles, choice, refusal);
  const askPerson: HostOptions["askPerson"] = (session, request, abort) => asks.permission(session.id, request, abort);
  const hooks = buildHooks({
    ...options,
    permission: askPerson,
    systemPrompt: (session) => conversations.systemPrompt(session),
    skillsFor: (session, text, abort) => skills.ranked(session, text, abort),
  });
  const { store } = hooks;
  const toolCalls = new ToolCallLog({ store, clock, log, redact: options.redact });
  const tools = new ToolRegistry({ log, clock, guard: hooks.guard, record: (call) => toolCalls.add(call) });
  const hub = new EventHub(store);
  const asks = new Asks({ store, clock, log, timeoutMs: () => settings().config.asks.timeout * 1000 });
  const plane = new Plane({ store, version, log, url: () => `${url()}${planePath}`, addSecret });
  const persist = createPersist({ store, clock, log, signal });
  const ask: HostOptions["permission"] = async (session, request, abort) =>
    skills.grants.allows(session.id, request)
      ? { decision: "allow", scope: "once" }
      : askPerson(session, request, abort);
  const maxHops = () => settings().config.messages.max_hops;
  const canResume = (session: SessionRow) => drivers.find(session.harness)?.capabilities.resume ?? false;
  // Inbox, turns and conversations point at each other; these closures are called only once all of them exist.
  const inbox: Inbox = new Inbox({
    store,
    clock,
    maxHops,
    perMinute: () => settings().config.messages.max_per_minute,
    wake: (session) => sessions.wake(session),
    interrupt: (session) => turns.interrupt(session),
    received: hooks.received,
    steer: (message) => skills.steer(message, signal),
  });
  const attachments = new Attachments({ dir: join(stateDir, "attachments"), drivers });
  const remembers = (session: SessionRow) => canResume(session) || conversations.has(session.id);
  const lazy = { turns: () => turns, subagents: () => subagents };
  const { installer: skillInstall, tools: moreTools } = buildSkillInstall({ ...options, asks });
  const skills = buildSkills({ ...options, ...lazy, agents, tools, remembers, moreTools });
  const conversations: Conversations = new Conversations({
    store,
    agents,
    drivers,
    tools,
    cwd: root,
    stateDir: join(stateDir, "conversations"),
    log,
    host: (session, scoped) =>
      createHost({ store, clock, log, turns, permission: ask, askPerson, hooks: hooks.conversation }, session, scoped),
    plane: (session, scoped) =>
      mayUsePlane(scoped.agent) ? plane.open(session, scoped) : { address: null, revoke: () => {} },
    toolsChanged: () => plane.toolsChanged(),
    opened: hooks.opened,
    briefing: (session) => subagents.briefing(session),
    skills: (session, { agent, names }, opening) =>
      skills.offer.section({ session, agent, tools: mayUsePlane(agent) ? names : [], opening }, signal),
  });
  const turns: Turns = new Turns({
    persist,
    clock,
    log,
    conversations,
    publishDelta: (delta) => hub.publishDelta(delta),
    attachmentPath: (attachment) => attachments.pathOf(attachment),
    contributors: [(turn, abort) => skills.offer.contribute(turn, abort), ...hooks.contributors],
    outgoing: hooks.outgoing,
    tellBlocked: (tx, session, messages, reason) => tellBlocked(tx, inbox, session, messages, reason),
    wake: (session) => sessions.wake(session),
  });
  const sessions = new Sessions({
    store,
    clock,
    log,
    agents,
    drivers,
    inbox,
    turns,
    conversations,
  });
  const subagents = new Subagents({
    store,
    persist,
    clock,
    log,
    agents,
    inbox,
    sessions,
    conversations,
    maxHops,
    settings: () => settings().config.subagents,
    waiting: [(session) => openQuestions(asks, session), (session) => workflows.stillRunning(session)],
  });
  signal.addEventListener("abort", () => subagents.stop(), { once: true });
  const pool = new Pool({
    store,
    persist,
    clock,
    log,
    agents,
    inbox,
    sessions,
    turns,
    max: () => settings().config.pool.max,
    settings: () => settings().config.subagents,
    remembers,
  });
  signal.addEventListener("abort", () => pool.stop(), { once: true });
  const waiting: readonly StillWaiting[] = [
    (session) => openQuestions(asks, session),
    (session) => subagents.stillRunning(session),
    (session) => workflows.stillRunning(session),
  ];
  const queues = new Queues({
    store,
    persist,
    clock,
    log,
    random: Math.random,
    agents,
    inbox,
    sessions,
    maxHops,
    declared: () => declaredQueues(settings().config),
    waiting,
  });
  const reducers = new ReducerRegistry();
  const defaults = () => settings().config.groups.defaults;
  const broadcasts = new Broadcasts({ store, clock, log, inbox, sessions, turns, reducers, defaults });
  const presets = () => settings().config.groups.presets;
  const groups = new Groups({ store, clock, log, sessions, broadcasts, reducers, presets });
  signal.addEventListener("abort", broadcasts.follow(), { once: true });
  const workflows = buildWorkflows({ ...options, store, sessions, inbox, asks, queues, groups, broadcasts, maxHops });
  const schedules = buildSchedules({ ...options, store, persist, agents, sessions, inbox, queues, workflows, waiting });
  for (const tool of sessionTools({ sessions, inbox, turns, agents })) tools.add(tool);
  for (const tool of askTools(asks)) tools.add(tool);
  for (const tool of subagentTools({ subagents, turns, clock })) tools.add(tool);
  for (const tool of poolTools({ pool, turns })) tools.add(tool);
  for (const tool of queueTools({ queues, turns })) tools.add(tool);
  for (const tool of groupTools({ groups, broadcasts, turns })) tools.add(tool);
  for (const tool of workflowTools({ workflows, turns })) tools.add(tool);
  skills.settingsChanged();
  tools.add(metaTool(tools));
  const shared = { store, agents, tools, hooks: hooks.registry, workflows, reducers, skills: skills.skills };
  const plugins = buildPlugins({ ...options, ...shared });
  return {
    store,
    agents,
    hub,
    inbox,
    attachments,
    asks,
    subagents,
    pool,
    queues,
    groups,
    broadcasts,
    reducers,
    workflows,
    skills,
    skillInstall,
    schedules,
    plugins,
    plane,
    sessions,
    turns,
    conversations,
    tools,
    toolCalls,
    hooks,
    harnesses: (abort) => probeAll(drivers, abort),
    async recover() {
      await skillInstall.recover(signal);
      const ended = await subagents.recover();
      if (ended.interrupted > 0) log.warn("subagents were at work when Aegis stopped", ended);
      await pool.recover();
      const recovered = await recover({ store, clock, inbox, canResume });
      await groups.resume();
      await broadcasts.resume();
      await subagents.start();
      return recovered;
    },
  };
}

/** What the session waits for a person to answer. */
async function openQuestions(asks: Asks, session: SessionId): Promise<string[]> {
  const open = await asks.list({ status: "open", limit: 10_000 });
  return open.filter((one) => one.session === session).map((one) => `an answer to: ${one.question}`);
}

async function probeAll(drivers: DriverRegistry, signal: AbortSignal): Promise<Harness[]> {
  return Promise.all(
    drivers.all().map(async (driver) => ({ harness: driver.harness, ...(await driver.probe(signal)) })),
  );
}
