/** Builds the parts with which sessions work together: subagents, the pool, queues, groups, workflows and schedules. */

import { join } from "node:path";
import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { catalog } from "@aegis/builtin-workflows/catalog.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { unsaidSandbox } from "@aegis/contract/sandbox.ts";
import type { QueueSettings } from "@aegis/contract/task.ts";
import { Broadcasts } from "@aegis/delegation/groups/broadcasts.ts";
import { Groups } from "@aegis/delegation/groups/groups.ts";
import { ReducerTable } from "@aegis/delegation/groups/reducers.ts";
import { Pool } from "@aegis/delegation/pool/pool.ts";
import { Queues } from "@aegis/delegation/queues/queues.ts";
import { Subagents } from "@aegis/delegation/subagents/subagents.ts";
import type { StillWaiting } from "@aegis/delegation/work/judge.ts";
import { EmbeddedEngine } from "@aegis/engine/embedded/engine.ts";
import type { AgentCommands } from "@aegis/hooks/agent-commands.ts";
import { isHere } from "@aegis/nodes/node-of.ts";
import type { Config } from "@aegis/project/config/config.ts";
import type { Settings } from "@aegis/project/settings.ts";
import type { ConsentCheck } from "@aegis/project/trust/judge.ts";
import type { Schedules } from "@aegis/schedules/schedules.ts";
import type { Asks } from "@aegis/sessions/asks/asks.ts";
import type { SessionExtensions } from "@aegis/sessions/extensions.ts";
import type { Store } from "@aegis/store/store.ts";
import { runOwner } from "@aegis/store/tables/nodes.ts";
import type { Transact } from "@aegis/store/transact.ts";
import type { WorkflowDeps } from "@aegis/workflows/deps.ts";
import { RunEnds } from "@aegis/workflows/run-ends.ts";
import { Workflows } from "@aegis/workflows/workflows.ts";
import type { CheckParts } from "./build-checks.ts";
import type { Confine } from "./build-confinement.ts";
import type { BuildOptions } from "./build-options.ts";
import { buildSchedules } from "./build-schedules.ts";
import type { SessionParts } from "./build-sessions.ts";

export type BuildWorkOptions = CheckParts &
  Pick<SessionParts, "inbox" | "sessions" | "sessionProcesses" | "conversations"> &
  Pick<BuildOptions, "root" | "stateDir" | "clock" | "log" | "env" | "settings" | "signal" | "redactedStream"> & {
    store: Store;
    transact: Transact;
    agents: AgentTable;
    asks: Asks;
    commands: AgentCommands;
    maxHops: () => number;
    judge: ConsentCheck;
    extensions: SessionExtensions;
    confine: Confine;
  };

export type WorkParts = {
  subagents: Subagents;
  pool: Pool;
  queues: Queues;
  groups: Groups;
  broadcasts: Broadcasts;
  reducers: ReducerTable;
  workflows: Workflows;
  schedules: Schedules;
};

export function buildWork(options: BuildWorkOptions): WorkParts {
  const { root, stateDir, store, transact, clock, log, env, settings, signal, redactedStream } = options;
  const { agents, asks, commands, judge, extensions, confine, maxHops, checks, receipts, checkConsent } = options;
  const { inbox, sessions, sessionProcesses, conversations } = options;
  const subagentSettings = () => settings().config.subagents;
  // Each part that can keep a session's work open adds itself when it is built.
  const subagentsWaitFor: StillWaiting[] = [(session) => openQuestions(asks, session)];
  const subagents = new Subagents({
    store,
    transact,
    clock,
    log,
    agents,
    inbox,
    sessions,
    conversations,
    checks,
    receipts,
    checkConsent,
    maxHops,
    settings: subagentSettings,
    waiting: subagentsWaitFor,
  });
  extensions.briefings.push((session) => subagents.briefing(session));
  signal.addEventListener("abort", () => subagents.stop(), { once: true });
  const pool = new Pool({
    store,
    transact,
    clock,
    log,
    agents,
    inbox,
    sessions,
    processes: sessionProcesses,
    max: () => settings().config.pool.max,
    settings: subagentSettings,
    recall: async (session) => {
      if (!isHere(store, await store.read.sessions.get(session))) return;
      // The turn reports a harness that cannot start.
      await conversations.get(session).catch(() => {});
    },
  });
  signal.addEventListener("abort", () => pool.stop(), { once: true });
  const waiting: StillWaiting[] = [
    (session) => openQuestions(asks, session),
    (session) => subagents.stillRunning(session),
  ];
  const queues = new Queues({
    store,
    transact,
    clock,
    log,
    agents,
    inbox,
    sessions,
    checks,
    receipts,
    checkConsent,
    random: Math.random,
    maxHops,
    subagentSettings,
    declared: () => declaredQueues(settings().config),
    waiting,
  });
  const reducers = new ReducerTable();
  const defaults = () => settings().config.groups.defaults;
  const broadcasts = new Broadcasts({
    store,
    transact,
    clock,
    log,
    inbox,
    sessions,
    processes: sessionProcesses,
    reducers,
    defaults,
  });
  const presets = () => settings().config.groups.presets;
  const groups = new Groups({ store, clock, log, sessions, broadcasts, reducers, presets });
  signal.addEventListener("abort", broadcasts.follow(), { once: true });
  const workflows = buildWorkflows({
    root,
    stateDir,
    store,
    clock,
    log,
    confine,
    env,
    settings,
    signal,
    redactedStream,
    agents,
    judge,
    sessions,
    inbox,
    asks,
    commands,
    queues,
    groups,
    broadcasts,
    checks,
    receipts,
    maxHops,
  });
  for (const list of [subagentsWaitFor, waiting]) list.push((session) => workflows.stillRunning(session));
  const schedules = buildSchedules({
    root,
    store,
    transact,
    clock,
    log,
    settings,
    agents,
    sessions,
    inbox,
    queues,
    workflows,
    waiting,
    refusal: (name) => judge.scheduleRefusal(name),
  });
  return { subagents, pool, queues, groups, broadcasts, reducers, workflows, schedules };
}

/** The session's open asks. */
async function openQuestions(asks: Asks, session: SessionId): Promise<string[]> {
  const open = await asks.list({ status: "open", limit: 10_000 });
  return open.filter((one) => one.session === session).map((one) => `an answer to: ${one.question}`);
}

function declaredQueues(config: Pick<Config, "queues">): Record<string, QueueSettings> {
  return Object.fromEntries(
    Object.entries(config.queues).map(([name, entry]) => [name, { ...entry, timeout: entry.timeout ?? null }]),
  );
}

type BuildWorkflowsOptions = Omit<WorkflowDeps, "scratchDir" | "subagentSettings" | "consent" | "confine"> & {
  confine: Confine;
  judge: ConsentCheck;
  stateDir: string;
  maxHops: () => number;
  settings: () => Settings;
  signal: AbortSignal;
};

/** Builds the workflow engine and the bundled workflows. */
function buildWorkflows(options: BuildWorkflowsOptions): Workflows {
  const { root, stateDir, store, clock, log, env, settings, signal, redactedStream } = options;
  const { agents, judge, sessions, inbox, asks, commands, queues, groups, broadcasts } = options;
  const { checks, receipts, maxHops } = options;
  const ends = new RunEnds({ store, log, inbox, asks, queues, sessions, groups, maxHops });
  const { membership } = store;
  // Without a cluster, the project lock ensures that only one daemon runs.
  const engine = new EmbeddedEngine({
    store,
    clock,
    log,
    hooks: ends,
    signal,
    exclusive: membership === undefined,
    incarnation: membership === undefined ? undefined : runOwner(membership.node, membership.incarnation),
  });
  const workflows = new Workflows({
    store,
    clock,
    log,
    agents,
    sessions,
    inbox,
    asks,
    commands,
    queues,
    groups,
    broadcasts,
    checks,
    receipts,
    redactedStream,
    env,
    root,
    maxHops,
    engine,
    ends,
    subagentSettings: () => settings().config.subagents,
    scratchDir: join(stateDir, "scratch"),
    confine: ({ within, folder, own }) =>
      options.confine({ within: within === null ? [] : (within.confined_within ?? [unsaidSandbox]), folder, own }),
    consent: ({ name, plugin }) => judge.workflow(name, plugin === null ? null : judge.loadedPlugin(plugin)),
    configured: () => settings().config.workflows,
  });
  for (const workflow of catalog()) workflows.add(workflow, "the catalog");
  return workflows;
}
