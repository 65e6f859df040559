/** Changes the agent or the model of a session. */

import { type AgentTable, offlineHarness } from "@aegis/agents/agent-table.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { DriverTable } from "@aegis/drivers/driver-table.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { StoreTx } from "@aegis/store/store.ts";
import { withModel } from "./new-session.ts";
import { liveRow } from "./rows.ts";

export type Assignment = { agent?: string | undefined; model?: string | null | undefined };

export type AssignOptions = { agents: AgentTable; drivers: DriverTable; clock: Clock };

/**
 * A conversation belongs to one agent, so the agent changes only before the first turn. The model changes at any time,
 * unless the harness would lose the conversation. Returns whether anything changed.
 */
export async function assignSession(
  tx: StoreTx,
  id: SessionId,
  { agent: reference, model }: Assignment,
  { agents, drivers, clock }: AssignOptions,
): Promise<boolean> {
  const row = await liveRow(tx, id);
  const agent = reference === undefined ? agents.get(row.agent) : agents.startable(reference);
  const isOther = agent.ref !== row.agent;
  const limits = withModel(row.limits, model);
  if (!isOther && (limits?.model ?? null) === (row.limits?.model ?? null)) return false;
  const [turn] = await tx.turns.list(id, 1);
  if (turn !== undefined && isOther) {
    throw new AegisError("conflict", `session "${row.handle}" keeps its agent "${row.agent}": it has had a turn`, {
      hint: `start a new session of "${agent.slug}"`,
    });
  }
  if (turn !== undefined && !drivers.get(agent.harness).capabilities.resume) {
    throw new AegisError("conflict", `the harness "${agent.harness}" cannot change the model of a conversation`, {
      hint: "start a new session with the other model",
    });
  }
  const { ref, harness } = agent;
  const assigned = { agent: ref, harness, offline: harness === offlineHarness };
  await tx.sessions.update(id, { ...assigned, limits });
  await tx.events.append(
    { type: "session.agent", session: id, data: { ...assigned, model: limits?.model ?? null } },
    clock.now(),
  );
  return true;
}
