/** Identifies the caller of a tool and the cause of the call. */
import { z } from "zod";
import type { Message } from "../../contract/message.ts";
import type { Starter } from "../../contract/starter.ts";
import { starterOf } from "../../runtime/rights/starter.ts";
import type { Turns } from "../../runtime/sessions/turns.ts";
import type { AgentTable } from "../../runtime/tables/agents.ts";
import { checkFromHandle as checkClaim } from "../../runtime/tables/from-handle.ts";
import type { ToolContext } from "../../runtime/tables/tools.ts";
import type { Store } from "../../store/store.ts";

/** Accepted for agents whose instructions tell them to identify themselves. The connection identifies them anyway. */
export const fromHandle = z.string().optional().describe("your own handle; optional");

export function checkFromHandle(claimed: string | undefined, { caller }: ToolContext): void {
  checkClaim(claimed, caller);
}

/** The caller as `endRefusal` expects it: its tree, and its agent as of the current turn. */
export async function enderOf(store: Store, { caller, agent }: ToolContext, agents: AgentTable): Promise<Starter> {
  return { ...(await starterOf(store.read, caller.id, agents)), agent };
}

export function senderOf({ caller }: ToolContext) {
  return { kind: "agent" as const, session: caller.id, handle: caller.handle };
}

/** The cause of an agent's action is the message with the longest chain in the current turn. */
export function causeOf({ caller }: ToolContext, turns: Turns): Message | undefined {
  return [...turns.current(caller.id)].sort((a, b) => b.hops - a.hops)[0];
}
