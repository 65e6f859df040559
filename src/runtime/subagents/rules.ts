/** Who may start whom: the project's settings, narrowed or widened by what the calling agent's profile says. */
import type { Agent } from "../../contract/agent.ts";
import { AegisError } from "../../contract/errors.ts";
import type { SessionId } from "../../contract/ids.ts";
import { didYouMean } from "../../lib/nearest.ts";
import type { SessionRow, StoreTx } from "../../store/store.ts";
import { offlineHarness } from "../registry/agents.ts";
import { isNamed } from "../registry/limits.ts";

/** What all subagents below one session that a person started may use up together. */
export type TreeBudget = {
  /** Under way at once. */
  agents: number;
  /** Ever started. */
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

/** Only these tools start others; who is too deep to do so does not even see them. */
export const spawningTools: readonly string[] = ["sessions_spawn", "agent"];

export type SpawnRules = SubagentSettings & { allow_agents: readonly string[] };

export function rulesFor(agent: Agent, settings: SubagentSettings): SpawnRules {
  const own = Object.entries(agent.subagents).filter(([, value]) => value !== undefined);
  const rules: SpawnRules = { ...settings, allow_agents: ["*"], ...Object.fromEntries(own) };
  return agent.plugin === null ? rules : narrowed(rules, settings);
}

/** A plugin's agent asks for less than the project allows, never for more. */
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
  throw new AegisError("forbidden", "refused: subagents are switched off here", {
    hint: "subagents.enabled in the configuration allows them",
  });
}

/** The depth is the caller's own, as it is on record. */
export function checkDepth(rules: SpawnRules, caller: Pick<SessionRow, "depth">): void {
  if (caller.depth < rules.max_spawn_depth) return;
  throw new AegisError(
    "forbidden",
    `refused: you are at depth ${caller.depth}, and agents at depth ${rules.max_spawn_depth} start no others`,
    { hint: "do the work yourself, or report that it needs to be divided further up" },
  );
}

export function checkChildren(rules: SpawnRules, running: number): void {
  if (running < rules.max_children) return;
  throw new AegisError("too_many", `refused: ${running} of your subagents are running, and no more than that may be`, {
    hint: "end your turn to wait for them, or end one with sessions_kill",
  });
}

export function checkAllowed(rules: SpawnRules, agent: Agent): void {
  const { allow_agents: allowed } = rules;
  if (isNamed(agent, allowed)) return;
  const near = didYouMean(agent.slug, allowed);
  throw new AegisError("forbidden", `refused: you may not start the agent "${agent.slug}"${near}`, {
    hint: allowed.length === 0 ? "you may start none" : `you may start: ${allowed.join(", ")}`,
  });
}

/** What is spent is added up only where it is limited: it takes a look at every turn of the tree. */
export async function checkBudget(tx: StoreTx, { budget }: SpawnRules, root: SessionId): Promise<void> {
  const { live, spawned } = await tx.subagents.totals(root);
  const isLimited = budget.output_tokens !== undefined || budget.usd !== undefined;
  const spent = isLimited ? await tx.subagents.spending(root, offlineHarness) : { output_tokens: 0, cost: 0 };
  const parts: [string, number, number | undefined][] = [
    ["agents at work", live, budget.agents],
    ["agents ever started", spawned, budget.spawns],
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
