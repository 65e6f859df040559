/**
 * Assigns a new session its position in the tree of its starter. Every start of a session by an agent uses it inside
 * the transaction that writes the session, so that two calls cannot both take the last slot.
 */
import type { Agent } from "@aegis/contract/agent.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { SessionLimits } from "@aegis/contract/session.ts";
import type { Starter } from "@aegis/contract/starter.ts";
import type { StoreReads, StoreTx } from "@aegis/store/store.ts";
import { limitsBelow } from "../limits.ts";
import {
  checkAllowed,
  checkBudget,
  checkChildren,
  checkDepth,
  rulesFor,
  type SpawnRules,
  type SubagentSettings,
  spawningTools,
} from "./rules.ts";
import { branchStart } from "./tree-position.ts";

/** Null limits: the session has all rights of its agent. */
export type SessionPlace = { started_by: SessionId; root: SessionId; depth: number; limits: SessionLimits | null };

/** Throws the reason if the starter may not start this agent now. */
export async function admit(
  tx: StoreTx,
  starter: Starter,
  agent: Agent,
  { settings, now }: { settings: SubagentSettings; now: number },
): Promise<SessionPlace> {
  const rules = rulesFor(starter.agent, settings);
  checkDepth(rules, starter);
  await checkChildren(tx, rules, starter.session);
  checkAllowed(rules, starter.agent, agent);
  await checkTime(tx, starter, rules, now);
  await checkBudget(tx, rules, starter.root, now);
  return placeBelow(starter, agent, settings);
}

/** The position without a check for free slots. */
export function placeBelow(starter: Starter, agent: Agent, settings: SubagentSettings): SessionPlace {
  return { ...positionBelow(starter), limits: limitsBelow(starter.agent, agent, lastDepth(starter, settings)) };
}

export function positionBelow({ session, root, depth }: Starter): Omit<SessionPlace, "limits"> {
  return { started_by: session, root, depth: depth + 1 };
}

/** The restrictions of a session at the maximum depth. */
export function lastDepth(starter: Starter, settings: SubagentSettings): { deny_tools: readonly string[] } {
  const { max_spawn_depth } = rulesFor(starter.agent, settings);
  return { deny_tools: starter.depth + 1 < max_spawn_depth ? [] : spawningTools };
}

/** When the time limit of the starter's branch expires; null without a limit. */
export async function branchEnd(
  from: StoreReads,
  starter: SessionId,
  { budget }: SpawnRules,
  now: number,
): Promise<number | null> {
  return budget.minutes === undefined ? null : ((await branchStart(from, starter)) ?? now) + budget.minutes * 60_000;
}

export async function checkTime(from: StoreReads, starter: Starter, rules: SpawnRules, now: number): Promise<void> {
  const end = await branchEnd(from, starter.session, rules, now);
  if (end === null || end > now) return;
  throw timeUsedUp();
}

export function timeUsedUp(): AegisError {
  return new AegisError("too_many", "refused: your tree of agents has used up its time", {
    hint: "finish with what you have",
  });
}
