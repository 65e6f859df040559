/** Who calls a tool, and what made it call. */
import { z } from "zod";
import { AegisError } from "../../contract/errors.ts";
import type { Message } from "../../contract/message.ts";
import type { ToolContext } from "../../runtime/registry/tools.ts";
import type { Turns } from "../../runtime/sessions/turns.ts";

/** Accepted for agents that were taught to say who they are; the connection says it anyway. */
export const fromHandle = z.string().optional().describe("your own handle; may be left out");

export function checkFromHandle(claimed: string | undefined, { caller }: ToolContext): void {
  if (claimed === undefined || claimed === caller.handle || claimed === caller.id) return;
  throw new AegisError(
    "forbidden",
    `from_handle "${claimed}" is not you: this connection belongs to "${caller.handle}"`,
  );
}

export function senderOf({ caller }: ToolContext) {
  return { kind: "agent" as const, session: caller.id, handle: caller.handle };
}

/** What an agent does during a turn is caused by the message with the longest chain in that turn. */
export function causeOf({ caller }: ToolContext, turns: Turns): Message | undefined {
  return [...turns.current(caller.id)].sort((a, b) => b.hops - a.hops)[0];
}
