/** Computes the rights of a queue's workers, and whether the producer's tree has room for one. */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { isNamed } from "@aegis/agents/limits.ts";
import { checkTime, placeBelow, positionBelow, type SessionPlace } from "@aegis/agents/rights/place.ts";
import {
  checkAllowed,
  checkChildren,
  checkDepth,
  checkUsed,
  rulesFor,
  type SubagentSettings,
  treeTotals,
} from "@aegis/agents/rights/rules.ts";
import { starterOf } from "@aegis/agents/rights/starter.ts";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Starter } from "@aegis/contract/starter.ts";
import type { QueueSettings, Task, TaskStarter } from "@aegis/contract/task.ts";
import { allLabels } from "@aegis/nodes/placement.ts";
import type { StoreReads, StoreTx } from "@aegis/store/store.ts";

export type RightsOptions = { agents: AgentTable; subagentSettings: () => SubagentSettings };

/**
 * Returns the starter to store with a new task; null for a person's task. Throws if the agent may not use the queue, or
 * if its tree may start no more. Room is required now only if the task must not wait: if the starter blocks on it,
 * or if the starter counts in the tree and would occupy the slot that the task needs.
 */
export async function acceptStarter(
  tx: StoreTx,
  given: { producer: SessionId | null; starter?: Starter | null | undefined; waits?: boolean | undefined },
  { queue, settings }: { queue: string; settings: QueueSettings },
  { agents, subagentSettings, now }: RightsOptions & { now: number },
): Promise<TaskStarter | null> {
  const { producer, waits = false } = given;
  const starter = given.starter ?? (producer === null ? null : await starterOf(tx, producer, agents));
  if (starter === null) return null;
  checkProducer(queue, settings, starter);
  const rules = rulesFor(starter.agent, subagentSettings());
  checkDepth(rules, starter);
  const own_rights = widens(settings, starter);
  const agent = agents.loadAgent(settings.agent);
  if (!own_rights && agent !== null) checkAllowed(rules, starter.agent, agent);
  await checkTime(tx, starter, rules, now);
  const { live, recent } = await treeTotals(tx, starter.root, now);
  const needsRoom = waits || starter.depth > 0;
  if (needsRoom) await checkChildren(tx, rules, starter.session);
  await checkUsed(tx, rules, starter.root, { ...(needsRoom ? { live } : {}), recent });
  const { session, root, depth, limits } = starter;
  return { session, root, depth, agent: starter.agent, limits, own_rights };
}

/** The labels that the node of a queue's worker must have. */
export function workerLabels({ agent, nodes }: QueueSettings, agents: AgentTable): string[] {
  return allLabels(agents.loadAgent(agent)?.nodes, nodes);
}

/** `wait` until a member of the tree has ended; `never` if that would not help. Both have a reason. */
export type Room = "yes" | { wait: string; starter: SessionId } | { never: string };

/** Whether a pending task may start now. Evaluated in the transaction that dispatches it. */
export async function roomFor(from: StoreReads, task: Task, options: RightsOptions & { now: number }): Promise<Room> {
  const starter = await starterOfTask(from, task, options.agents);
  if (starter === null) return "yes";
  const rules = rulesFor(starter.agent, options.subagentSettings());
  const { root, session } = starter;
  const { live } = await treeTotals(from, root, options.now);
  const never = await objection(async () => {
    checkDepth(rules, starter);
    await checkTime(from, starter, rules, options.now);
    // The task has had its place in `budget.spawns` since it was accepted.
    await checkUsed(from, rules, root, {});
  });
  if (never !== null) return { never };
  const wait = await objection(async () => {
    await checkChildren(from, rules, session);
    await checkUsed(from, rules, root, { live });
  });
  return wait === null ? "yes" : { wait, starter: session };
}

/** The reason if one of the checks refuses. */
async function objection(check: () => Promise<void>): Promise<string | null> {
  try {
    await check();
    return null;
  } catch (error) {
    if (isAegisError(error) && (error.code === "forbidden" || error.code === "too_many")) return error.message;
    throw error;
  }
}

/** The worker's place in the tree. Null for a task of a person or a schedule, whose worker starts a new tree. */
export async function workerPlace(
  from: StoreReads,
  task: Task,
  settings: QueueSettings,
  { agents, subagentSettings }: RightsOptions,
): Promise<SessionPlace | null> {
  const starter = await starterOfTask(from, task, agents);
  if (starter === null) return null;
  // Both the configuration at admission and the current one must allow it.
  if (!starter.own_rights || !widens(settings, starter))
    return placeBelow(starter, agents.get(settings.agent), subagentSettings());
  // Denials of the producer's ancestors still apply, so that a queue cannot be used to gain rights.
  const limits = starter.limits === null ? null : { ...starter.limits, model: null };
  return { ...positionBelow(starter), limits };
}

/** A task that was stored without a starter by an older version gets the current rights of its producer. */
async function starterOfTask(
  from: StoreReads,
  { starter, producer }: Task,
  agents: AgentTable,
): Promise<TaskStarter | null> {
  if (starter !== null || producer === null) return starter;
  return { ...(await starterOf(from, producer, agents)), own_rights: false };
}

function widens({ rights, producers }: QueueSettings, { agent }: Starter): boolean {
  return rights === "own" && producers !== undefined && isNamed({ plugin: null }, agent, producers);
}

function checkProducer(queue: string, { rights, producers }: QueueSettings, { agent }: Starter): void {
  if (producers === undefined && rights !== "own") return;
  const names = producers ?? [];
  if (isNamed({ plugin: null }, agent, names)) return;
  const name = agent.plugin === null ? agent.slug : `${agent.plugin}:${agent.slug}`;
  throw new AegisError("forbidden", `refused: queue "${queue}" accepts no tasks from the agent "${name}"`, {
    hint: names.length === 0 ? "its producers name no agent" : `its producers are: ${names.join(", ")}`,
  });
}
