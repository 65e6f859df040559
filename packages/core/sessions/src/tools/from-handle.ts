/**
 * `from_handle`: the argument with which some agents identify themselves. The connection already identifies the caller,
 * so the argument is optional and must be correct if given.
 */

import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionRow } from "@aegis/store/store.ts";
import { z } from "zod";
import type { AgentTool } from "./tools.ts";

type Caller = Pick<SessionRow, "id" | "handle">;

/** Throws `forbidden` for the handle of another session. */
export function checkFromHandle(claimed: string | undefined, caller: Caller): void {
  if (claimed === undefined || claimed === caller.handle || claimed === caller.id) return;
  throw new AegisError(
    "forbidden",
    `from_handle "${claimed}" is not you: this connection belongs to "${caller.handle}"`,
  );
}

/** Removes a `from_handle` that the schema of a built-in tool does not declare. */
export function withoutClaim(tool: Pick<AgentTool, "input">, input: unknown, caller: Caller): unknown {
  if (!(tool.input instanceof z.ZodObject) || "from_handle" in tool.input.shape) return input;
  if (typeof input !== "object" || input === null || !Object.hasOwn(input, "from_handle")) return input;
  const { from_handle: claimed, ...rest } = input as Record<string, unknown>;
  if (typeof claimed === "string") checkFromHandle(claimed, caller);
  return rest;
}
