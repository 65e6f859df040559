/** Rules about which agents may start which: the project's settings, adjusted by the starting agent's profile. */
import type { Agent } from "@aegis/contract/agent.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { StarterAgent } from "@aegis/contract/starter.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { SessionRow, StoreReads, TreeTotals } from "@aegis/store/store.ts";
import { offlineHarness } from "../agent-table.ts";
import { isNamed } from "../limits.ts";

/** The budget that a person's session shares with everything started below it. */
type TreeBudget = {
  /** Running at the same time. */
  agents: number;
  /** Unfinished, or started in the last day. */
  spawns: number;
  /** From the start of a child of the root to the end of everything below it. */
  minutes?: number | undefined;
  output_tokens?: number | undefined;
  usd?: number | undefined;
};

export type SubagentSettings = {
  enabled: boolean;
  max_spawn_depth: number;
  max_children: number;
  default_timeout: number;
  session_ttl_minutes: number;
  budget: TreeBudget;
};

/** Tools that start sessions. They are hidden from an agent at the maximum depth. */
export const spawningTools: readonly string[] = ["sessions_spawn", "agent", "aegis_spawn", "aegis_group_spawn"];

/** The tools that `subagents.enabled: false` disables. */
const subagentTools: readonly string[] = [
  ...["sessions_spawn", "sessions_send", "sessions_list", "sessions_history", "sessions_kill"],
  ...["agent", "agent_ask"],
];

/** The reason why a tool that starts or manages others is hidden from an agent, or null. */
export function withheldTool(
  tool: string,
  agent: Pick<Agent, "subagents" | "plugin">,
  place: Pick<SessionRow, "depth" | "limits"> | null,
  settings: SubagentSettings,
): string | null {
  const rules = rulesFor(agent, settings);
  if (!rules.enabled && subagentTools.includes(tool)) return "subagents are disabled here (subagents.enabled)";
  if (place === null || !spawningTools.includes(tool)) return null;
  // The starter's rules apply as well: its maximum depth denies all of these tools.
  const denied = place.limits?.deny_tools ?? [];
  const isLast = place.depth >= rules.max_spawn_depth || spawningTools.every((name) => denied.includes(name));
  return isLast ? `you are at depth ${place.depth}, and agents at depth ${place.depth} start no others` : null;
}

export type SpawnRules = SubagentSettings & { allow_agents: readonly string[] };

export function rulesFor(agent: Pick<Agent, "subagents" | "plugin">, settings: SubagentSettings): SpawnRules {
  const own = Object.entries(agent.subagents).filter(([, value]) => value !== undefined);
  const rules: SpawnRules = { ...settings, allow_agents: ["*"], ...Object.fromEntries(own) };
  return agent.plugin === null ? rules : narrowed(rules, settings);
}

/** A plugin's agent can narrow the project's rules but not widen them. */
function narrowed(rules: SpawnRules, settings: SubagentSettings): SpawnRules {
  const { max_children, max_spawn_depth, default_timeout } = settings;
  return {
    ...rules,
    enabled: rules.enabled && settings.enabled,
    max_children: Math.min(rules.max_children, max_children),
    max_spawn_depth: Math.min(rules.max_spawn_depth, max_spawn_depth),
    default_timeout: Math.min(rules.default_timeout, default_timeout),
  };
}

export function checkEnabled(rules: SpawnRules): void {
  if (rules.enabled) return;
  throw new AegisError("forbidden", "refused: subagents are disabled here", {
    hint: "subagents.enabled in the configuration allows them",
  });
}

/** Uses the stored depth of the starter. */
export function checkDepth(rules: SpawnRules, starter: Pick<SessionRow, "depth">): void {
  if (starter.depth < rules.max_spawn_depth) return;
  throw new AegisError(
    "forbidden",
    `refused: you are at depth ${starter.depth}, and agents at depth ${rules.max_spawn_depth} start no others`,
    { hint: "do the work yourself, or report that it needs to be divided further up" },
  );
}

export async function checkChildren(read: StoreReads, rules: SpawnRules, starter: SessionId): Promise<void> {
  const running = await read.subagents.children(starter);
  if (running < rules.max_children) return;
  throw new AegisError(
    "too_many",
    `refused: ${running} of your subagents are running, peers and workers included, and no more may be`,
    {
      hint: "end your turn to wait for them, or end one with sessions_kill or aegis_close",
    },
  );
}

export function checkAllowed(rules: SpawnRules, starter: Pick<StarterAgent, "plugin">, agent: Agent): void {
  const { allow_agents: allowed } = rules;
  if (isNamed(starter, agent, allowed)) return;
  const name = agent.plugin === null ? agent.slug : `${agent.plugin}:${agent.slug}`;
  throw new AegisError("forbidden", `refused: you may not start the agent "${name}"${didYouMean(name, allowed)}`, {
    hint: allowed.length === 0 ? "you may start none" : `you may start: ${allowed.join(", ")}`,
  });
}

/** So long work counts towards `budget.spawns` after its start, if it does not take longer. */
const recentMs = 24 * 3_600_000;

export function treeTotals(from: StoreReads, root: SessionId, now: number): Promise<TreeTotals> {
  return from.subagents.totals(root, now - recentMs);
}

/** Counts of the tree; absent ones are not checked. */
type Counted = { live?: number; recent?: number };

/** Computes the spent amount only if it is limited, because that reads every turn of the tree. */
export async function checkUsed(
  from: StoreReads,
  { budget }: SpawnRules,
  root: SessionId,
  counted: Counted,
): Promise<void> {
  const isLimited = budget.output_tokens !== undefined || budget.usd !== undefined;
  const spent = isLimited ? await from.subagents.spending(root, offlineHarness) : { output_tokens: 0, cost: 0 };
  const parts: [string, number, number | undefined][] = [
    ["agents at work", counted.live ?? 0, budget.agents],
    ["agents that are open, wait or were started in the last 24 hours", counted.recent ?? 0, budget.spawns],
    ["output tokens", spent.output_tokens, budget.output_tokens],
    ["US dollars", spent.cost, budget.usd],
  ];
  for (const [what, used, limit] of parts) {
    if (limit === undefined || used < limit) continue;
    throw new AegisError(
      "too_many",
      `refused: your tree of agents has used up its budget: ${Number(used.toPrecision(9))} of ${limit} ${what}`,
      {
        hint: "finish with what you have; subagents.budget in the configuration sets the limits",
      },
    );
  }
}

/** Pending tasks in queues reserve part of the remaining spawn budget. */
export async function checkBudget(from: StoreReads, rules: SpawnRules, root: SessionId, now: number): Promise<void> {
  const { live, recent } = await treeTotals(from, root, now);
  await checkUsed(from, rules, root, { live, recent });
}
