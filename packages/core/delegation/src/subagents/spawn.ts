/** Starts a subagent. One transaction makes all checks and writes the session, its first message and its row. */
import { createHash } from "node:crypto";
import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { limitsBelow } from "@aegis/agents/limits.ts";
import { branchEnd, lastDepth, positionBelow, timeUsedUp } from "@aegis/agents/rights/place.ts";
import {
  checkAllowed,
  checkBudget,
  checkChildren,
  checkDepth,
  checkEnabled,
  rulesFor,
  type SpawnRules,
  type SubagentSettings,
} from "@aegis/agents/rights/rules.ts";
import { starterOf } from "@aegis/agents/rights/starter.ts";
import { treePositionOf } from "@aegis/agents/rights/tree-position.ts";
import type { Agent } from "@aegis/contract/agent.ts";
import type { NamedCheck } from "@aegis/contract/check.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { MessageId, SessionId } from "@aegis/contract/ids.ts";
import { type Cleanup, subagentLabelMaxLength } from "@aegis/contract/subagent.ts";
import type { Isolation } from "@aegis/contract/worktree.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import { checkBody } from "@aegis/sessions/inbox/inbox.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { SessionRow, StoreTx, SubagentRow } from "@aegis/store/store.ts";

export type NewSubagent = {
  /** The calling agent with its limits. */
  callerAgent: Agent;
  caller: SessionId;
  /** The idempotency key: a repeated call starts one subagent. */
  key: string;
  /** Default: the caller's agent. */
  agent?: string | undefined;
  task: string;
  label?: string | undefined;
  model?: string | undefined;
  isolation?: Isolation | undefined;
  /** Seconds. */
  timeout?: number | undefined;
  cleanup?: Cleanup | undefined;
  /** A command that must succeed before it is done. */
  check?: NamedCheck | undefined;
  cause?: { chain: MessageId; hops: number } | undefined;
};

export type SpawnOptions = {
  clock: Clock;
  agents: AgentTable;
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
  await checkChildren(tx, rules, caller.id);
  const agent = options.agents.get(input.agent ?? caller.agent);
  checkAllowed(rules, input.callerAgent, agent);
  const { own, root } = await treePositionOf(tx, caller.id);
  if (own !== null && own.status !== "running") {
    const who = own.session === caller.id ? "you have ended as" : "you work for";
    throw new AegisError("closed", `refused: ${who} the subagent "${own.label}" (${own.status})`);
  }
  await checkBudget(tx, rules, root, now);
  const timeout = input.timeout ?? rules.default_timeout;
  const deadline = await deadlineOf(tx, caller.id, own, now + timeout * 1_000, rules, now);
  const label = await freeLabel(tx, caller.id, input.label ?? agent.slug);
  // The caller's agent as of its turn, which may be older than the profile.
  const starter = { ...(await starterOf(tx, caller.id, options.agents)), agent: input.callerAgent };
  const position = positionBelow(starter);
  const { depth } = position;
  const model = input.model ?? null;
  const { row: session } = await options.sessions.createIn(tx, {
    // The id is stable if the transaction is retried.
    id: derivedId("ses", `subagent/${input.key}`),
    agent: agent.ref,
    title: label,
    prompt: input.task,
    sender: { kind: "agent", session: caller.id, handle: caller.handle },
    cause: input.cause,
    parent: caller.id,
    ask_policy: caller.ask_policy,
    isolation: input.isolation,
    place: {
      ...position,
      limits: limitsBelow(input.callerAgent, agent, { model, ...lastDepth(starter, options.settings()) }),
    },
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
  if (input.check !== undefined) await tx.receipts.setCheck(run_id, input.check);
  const { chain: _, hops: __, ...subagent } = row;
  await tx.events.append({ type: "subagent.spawned", session: caller.id, data: { subagent } }, now);
  return { row, duplicate: false };
}

function runIdOf(key: string): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 12);
}

function sameAs(before: SubagentRow, { caller, task }: NewSubagent): SubagentRow {
  if (before.parent === caller && before.task === task) return before;
  throw new AegisError("conflict", `the run ${before.run_id} was started before for another task`);
}

/** The current row: the data that the caller's conversation was opened with may be outdated. */
async function liveCaller(tx: StoreTx, id: SessionId): Promise<SessionRow> {
  const caller = await tx.sessions.get(id);
  if (caller === null || caller.closed_at !== null) throw new AegisError("closed", "refused: your session is closed");
  return caller;
}

/** A subagent gets at most the remaining time of its parent, and at most the budget of the tree. */
async function deadlineOf(
  tx: StoreTx,
  caller: SessionId,
  own: SubagentRow | null,
  wanted: number,
  rules: SpawnRules,
  now: number,
): Promise<number> {
  const end = await branchEnd(tx, caller, rules, now);
  const deadline = Math.min(wanted, own?.deadline ?? wanted, end ?? wanted);
  if (deadline > now) return deadline;
  throw timeUsedUp();
}

/** Adds a number to a label that is in use. */
async function freeLabel(tx: StoreTx, parent: SessionId, wanted: string): Promise<string> {
  // The number may replace the end of a long label.
  const prefix = wanted.slice(0, subagentLabelMaxLength - 8);
  const taken = new Set(await tx.subagents.labels(parent, prefix));
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? "" : `-${number}`;
    const label = `${wanted.slice(0, subagentLabelMaxLength - suffix.length)}${suffix}`;
    if (!taken.has(label)) return label;
  }
}
