/** Starts a subagent: every check, the session, its first message and its row in one transaction. */
import { createHash } from "node:crypto";
import type { Agent } from "../../contract/agent.ts";
import { AegisError } from "../../contract/errors.ts";
import type { MessageId, SessionId } from "../../contract/ids.ts";
import { type Cleanup, subagentLabelMaxLength } from "../../contract/subagent.ts";
import type { Clock } from "../../lib/clock.ts";
import type { SessionRow, StoreTx, SubagentRow } from "../../store/store.ts";
import { derivedId } from "../inbox/derived-id.ts";
import { checkBody } from "../inbox/inbox.ts";
import type { AgentRegistry } from "../registry/agents.ts";
import { limitsBelow } from "../registry/limits.ts";
import type { Sessions } from "../sessions/sessions.ts";
import {
  checkAllowed,
  checkBudget,
  checkChildren,
  checkDepth,
  checkEnabled,
  rulesFor,
  type SpawnRules,
  type SubagentSettings,
  spawningTools,
} from "./rules.ts";
import { standingOf } from "./standing.ts";

export type NewSubagent = {
  /** The agent that calls, with the limits it has itself. */
  callerAgent: Agent;
  caller: SessionId;
  /** The same for a repeated call: it starts one subagent. */
  key: string;
  /** The caller's own agent when absent. */
  agent?: string | undefined;
  task: string;
  label?: string | undefined;
  model?: string | undefined;
  /** Seconds. */
  timeout?: number | undefined;
  cleanup?: Cleanup | undefined;
  cause?: { chain: MessageId; hops: number } | undefined;
};

export type SpawnOptions = {
  clock: Clock;
  agents: AgentRegistry;
  sessions: Sessions;
  settings: () => SubagentSettings;
};

export async function spawnIn(
  tx: StoreTx,
  input: NewSubagent,
  options: SpawnOptions,
): Promise<{ row: SubagentRow; duplicate: boolean }> {
  const run_id = runIdOf(input.key);
  const before = await tx.subagents.get(run_id);
  if (before) return { row: sameAs(before, input), duplicate: true };
  checkBody(input.task);
  const now = options.clock.now();
  const rules = rulesFor(input.callerAgent, options.settings());
  checkEnabled(rules);
  const caller = await liveCaller(tx, input.caller);
  checkDepth(rules, caller);
  checkChildren(rules, await tx.subagents.countRunning(caller.id));
  const agent = options.agents.get(input.agent ?? caller.agent);
  checkAllowed(rules, agent);
  const { own, root } = await standingOf(tx, caller.id);
  if (own !== null && own.status !== "running") {
    const who = own.session === caller.id ? "you have ended as" : "you work for";
    throw new AegisError("closed", `refused: ${who} the subagent "${own.label}" (${own.status})`);
  }
  await checkBudget(tx, rules, root);
  const timeout = input.timeout ?? rules.default_timeout;
  const deadline = await deadlineOf(tx, own, now + timeout * 1_000, rules, now);
  const label = await freeLabel(tx, caller.id, input.label ?? agent.slug);
  const depth = caller.depth + 1;
  const model = input.model ?? null;
  const { row: session } = await options.sessions.createIn(tx, {
    // The same for a transaction that runs again.
    id: derivedId("ses", `subagent/${input.key}`),
    agent: agent.ref,
    title: label,
    prompt: input.task,
    sender: { kind: "agent", session: caller.id, handle: caller.handle },
    cause: input.cause,
    parent: caller.id,
    depth,
    ask_policy: caller.ask_policy,
    limits: limitsBelow(input.callerAgent, agent, {
      model,
      deny_tools: depth < rules.max_spawn_depth ? [] : spawningTools,
    }),
  });
  const row: SubagentRow = {
    run_id,
    session: session.id,
    parent: caller.id,
    root,
    depth,
    agent: agent.ref,
    label,
    task: input.task,
    model,
    cleanup: input.cleanup ?? "keep",
    status: "running",
    result: null,
    error: null,
    timeout: Math.round(deadline - now) / 1_000,
    deadline,
    created_at: now,
    ended_at: null,
    archived_at: null,
    announced_to: null,
    announcement: null,
    chain: input.cause?.chain ?? null,
    hops: input.cause?.hops ?? 0,
  };
  await tx.subagents.insert(row);
  const { chain: _, hops: __, ...subagent } = row;
  await tx.events.append({ type: "subagent.spawned", session: caller.id, data: { subagent } }, now);
  return { row, duplicate: false };
}

export function runIdOf(key: string): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 12);
}

function sameAs(before: SubagentRow, { caller, task }: NewSubagent): SubagentRow {
  if (before.parent === caller && before.task === task) return before;
  throw new AegisError("conflict", `the run ${before.run_id} was started before for another task`);
}

/** The row as it is now: what the caller's conversation knew when it was opened may be old. */
async function liveCaller(tx: StoreTx, id: SessionId): Promise<SessionRow> {
  const caller = await tx.sessions.get(id);
  if (caller === null || caller.closed_at !== null) throw new AegisError("closed", "refused: your session is closed");
  return caller;
}

/** Nobody is given more time than whoever started it has left, and no branch more than the budget. */
async function deadlineOf(
  tx: StoreTx,
  own: SubagentRow | null,
  wanted: number,
  { budget }: SpawnRules,
  now: number,
): Promise<number> {
  let top = own;
  for (let next = own; next !== null; next = (await standingOf(tx, next.parent)).own) top = next;
  const branchEnd = budget.minutes === undefined ? wanted : (top?.created_at ?? now) + budget.minutes * 60_000;
  const deadline = Math.min(wanted, own?.deadline ?? wanted, branchEnd);
  if (deadline > now) return deadline;
  throw new AegisError("too_many", "refused: your tree of agents has used up its time", {
    hint: "finish with what you have",
  });
}

/** A label that is taken gets a number. */
async function freeLabel(tx: StoreTx, parent: SessionId, wanted: string): Promise<string> {
  // A number may take the place of the end of a long one.
  const prefix = wanted.slice(0, subagentLabelMaxLength - 8);
  const taken = new Set(await tx.subagents.labels(parent, prefix));
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? "" : `-${number}`;
    const label = `${wanted.slice(0, subagentLabelMaxLength - suffix.length)}${suffix}`;
    if (!taken.has(label)) return label;
  }
}
