/** Makes the ways in which sessions work together: subagents, the pool, queues, groups, workflows and schedules. */
import type { SessionId } from "../contract/ids.ts";
import type { Asks } from "../runtime/asks/asks.ts";
import { Broadcasts } from "../runtime/groups/broadcasts.ts";
import { Groups } from "../runtime/groups/groups.ts";
import { ReducerRegistry } from "../runtime/groups/reducers.ts";
import { Pool } from "../runtime/pool/pool.ts";
import { Queues } from "../runtime/queues/queues.ts";
import type { StillWaiting } from "../runtime/queues/verdict.ts";
import type { AgentRegistry } from "../runtime/registry/agents.ts";
import type { Schedules } from "../runtime/schedules/schedules.ts";
import { Subagents } from "../runtime/subagents/subagents.ts";
import type { Workflows } from "../runtime/workflows/workflows.ts";
import type { Persist } from "../store/persist.ts";
import type { Store } from "../store/store.ts";
import type { BuildOptions } from "./build.ts";
import { buildSchedules } from "./build-schedules.ts";
import type { SessionParts } from "./build-sessions.ts";
import { buildWorkflows } from "./build-workflows.ts";
import { declaredQueues } from "./declared-queues.ts";

export type BuildTeamworkOptions = SessionParts &
  Pick<BuildOptions, "root" | "stateDir" | "clock" | "log" | "processes" | "env" | "settings" | "signal"> & {
    store: Store;
    persist: Persist;
    agents: AgentRegistry;
    asks: Asks;
    maxHops: () => number;
  };

export type Teamwork = {
  subagents: Subagents;
  pool: Pool;
  queues: Queues;
  groups: Groups;
  broadcasts: Broadcasts;
  reducers: ReducerRegistry;
  workflows: Workflows;
  schedules: Schedules;
};

export function buildTeamwork(options: BuildTeamworkOptions): Teamwork {
  const { store, persist, clock, log, settings, signal, agents, asks, maxHops } = options;
  const { inbox, sessions, turns, conversations, remembers } = options;
  const base = { store, persist, clock, log, agents, inbox, sessions };
  const subagents = new Subagents({
    ...base,
    conversations,
    maxHops,
    settings: () => settings().config.subagents,
    waiting: [(session) => openQuestions(asks, session), (session) => workflows.stillRunning(session)],
  });
  signal.addEventListener("abort", () => subagents.stop(), { once: true });
  const pool = new Pool({
    ...base,
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
    ...base,
    random: Math.random,
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
  const workflows = buildWorkflows({ ...options, queues, groups, broadcasts });
  const schedules = buildSchedules({ ...options, queues, workflows, waiting });
  return { subagents, pool, queues, groups, broadcasts, reducers, workflows, schedules };
}

/** What the session waits for a person to answer. */
async function openQuestions(asks: Asks, session: SessionId): Promise<string[]> {
  const open = await asks.list({ status: "open", limit: 10_000 });
  return open.filter((one) => one.session === session).map((one) => `an answer to: ${one.question}`);
}
