/** Creates a session inside a transaction, together with its first message. */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { admit, type SessionPlace } from "@aegis/agents/rights/place.ts";
import type { SubagentSettings } from "@aegis/agents/rights/rules.ts";
import { starterOf } from "@aegis/agents/rights/starter.ts";
import type { Agent } from "@aegis/contract/agent.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { newId, type SessionId } from "@aegis/contract/ids.ts";
import type { DriverTable } from "@aegis/drivers/driver-table.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { allLabels, requireNodeFor } from "@aegis/nodes/placement.ts";
import type { SessionRow, StoreTx } from "@aegis/store/store.ts";
import { handleCandidates, seededBy } from "./handles.ts";
import type { AdmittedMessage, Inbox } from "./inbox/inbox.ts";
import { type NewSession, newRow } from "./new-session.ts";
import { publicSession } from "./rows.ts";

export type CreateOptions = {
  agents: AgentTable;
  drivers: DriverTable;
  inbox: Inbox;
  clock: Clock;
  /** The node on which the session runs; null without a cluster. */
  node: string | null;
  /** The subagent settings of the project. */
  subagentSettings: () => SubagentSettings;
};

export type CreatedSession = { row: SessionRow; admitted: AdmittedMessage | null };

/** Idempotent by id: nothing is admitted for an existing session. */
export async function createSession(tx: StoreTx, input: NewSession, options: CreateOptions): Promise<CreatedSession> {
  const { agents, drivers, inbox, clock } = options;
  const agent = agents.startable(input.agent);
  if (!drivers.find(agent.harness)) {
    throw new AegisError(
      "invalid",
      `agent "${agent.slug}" wants harness "${agent.harness}", which Aegis cannot drive`,
      { hint: `harnesses here: ${drivers.names.join(", ")}` },
    );
  }
  const before = input.id === undefined ? null : await tx.sessions.get(input.id);
  if (before) return { row: before, admitted: null };
  // Refused before anything is written, so that a caller may catch the refusal and use its transaction.
  if (input.prompt !== undefined) inbox.checkNew({ body: input.prompt, cause: input.cause });
  const now = clock.now();
  const id = input.id ?? newId("ses", now);
  const handle = input.handle ?? (await freeHandle(tx, id));
  const place = input.place ?? (await placeFor(tx, input, agent, options));
  const at = await nodeOf(tx, allLabels(agent.nodes, input.nodes), options);
  const row = { ...newRow(input, { id, agent, handle, place, now }), ...at };
  await tx.sessions.insert(row);
  if ((input.isolation ?? agent.isolation) === "worktree")
    await tx.worktrees.insert({ session: id, base_ref: input.base ?? null, created_at: now });
  await tx.events.append({ type: "session.created", session: row.id, data: { session: publicSession(row) } }, now);
  if (input.prompt === undefined) return { row, admitted: null };
  const admitted = await inbox.admitIn(tx, {
    session: row.id,
    sender: input.sender ?? { kind: "human" },
    body: input.prompt,
    cause: input.cause,
  });
  return { row, admitted };
}

/** Without a cluster, labels are kept for a later move into one. */
async function nodeOf(
  tx: StoreTx,
  nodes: readonly string[],
  { node }: CreateOptions,
): Promise<Pick<SessionRow, "node" | "nodes">> {
  const wanted = nodes.length === 0 ? {} : { nodes };
  return node === null ? wanted : { ...wanted, node: await requireNodeFor(tx, node, nodes) };
}

async function placeFor(
  tx: StoreTx,
  { starter }: NewSession,
  agent: Agent,
  { agents, clock, subagentSettings }: CreateOptions,
): Promise<SessionPlace | null> {
  if (starter === null || starter === undefined) return null;
  const known = typeof starter === "string" ? await starterOf(tx, starter, agents) : starter;
  return admit(tx, known, agent, { settings: subagentSettings(), now: clock.now() });
}

/** Deterministic by id, so that a retried transaction creates the same session. */
async function freeHandle(tx: StoreTx, id: SessionId): Promise<string> {
  for (const handle of handleCandidates(seededBy(id))) {
    if (!(await tx.sessions.byHandle(handle))) return handle;
  }
  throw new Error("unreachable: candidates never end");
}
