/** Identifies the caller of a tool and the cause of the call. */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { starterOf } from "@aegis/agents/rights/starter.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { Starter } from "@aegis/contract/starter.ts";
import { checkFromHandle as checkClaim } from "@aegis/sessions/tools/from-handle.ts";
import type { AgentToolContext } from "@aegis/sessions/tools/tools.ts";
import type { Turns } from "@aegis/sessions/turns.ts";
import type { Store } from "@aegis/store/store.ts";
import { z } from "zod";

/** Accepted for agents whose instructions tell them to identify themselves. The connection identifies them anyway. */
export const fromHandle = z.string().optional().describe("your own handle; optional");

export function checkFromHandle(claimed: string | undefined, { caller }: AgentToolContext): void {
  checkClaim(claimed, caller);
}

/** The caller as `endRefusal` expects it: its tree, and its agent as of the current turn. */
export async function enderOf(store: Store, { caller, agent }: AgentToolContext, agents: AgentTable): Promise<Starter> {
  return { ...(await starterOf(store.read, caller.id, agents)), agent };
}

export function senderOf({ caller }: AgentToolContext) {
  return { kind: "agent" as const, session: caller.id, handle: caller.handle };
}

/** The cause of an agent's action is the message with the longest chain in the current turn. */
export function causeOf({ caller }: AgentToolContext, turns: Turns): Message | undefined {
  return [...turns.current(caller.id)].sort((a, b) => b.hops - a.hops)[0];
}
