/** Finds the point at which a session can be forked, or the reason why it cannot. */

import type { Agent } from "@aegis/contract/agent.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { DriverTable } from "@aegis/drivers/driver-table.ts";
import type { ForkPoint, SessionRow, StoreTx } from "@aegis/store/store.ts";

/** Throws if the harness cannot fork, or if there is no settled memory to start from. */
export async function forkPointOf(
  tx: StoreTx,
  session: SessionRow,
  agent: Agent,
  drivers: DriverTable,
): Promise<ForkPoint> {
  const { handle, harness } = session;
  const able = drivers.all().filter((driver) => driver.capabilities.fork);
  if (!able.some((driver) => driver.harness === harness)) {
    throw new AegisError("invalid", `"${handle}" runs on "${harness}", which cannot fork a conversation`, {
      hint: `start a new session and tell it what it must know; harnesses that can fork: ${able.map((driver) => driver.harness).join(", ")}`,
    });
  }
  if (agent.harness !== harness) {
    throw new AegisError("conflict", `"${handle}" ran on "${harness}", but its agent now runs on "${agent.harness}"`, {
      hint: "start a new session: one harness cannot read the memory of another",
    });
  }
  if (session.state === "working") {
    throw new AegisError("conflict", `"${handle}" is in the middle of a turn`, {
      hint: `wait for its end, or interrupt it with: aegis interrupt ${handle}`,
    });
  }
  if (session.forked_from === null && (await tx.turns.list(session.id, 1)).length === 0) {
    throw new AegisError("conflict", `"${handle}" has nothing to remember yet`, {
      hint: `start another session of its agent: aegis spawn ${session.agent}`,
    });
  }
  return { seq: await tx.events.lastSeq(), resume: session.resume ?? session.fork_point?.resume ?? null };
}
