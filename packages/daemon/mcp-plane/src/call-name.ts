/**
 * Derives a unique name for a tool call, so that a repeated request has its side effect once. Request ids that a client
 * counts up restart with each connection. They could make two calls look like one, so they are not used.
 */
import { randomUUID } from "node:crypto";

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Returns a name that is unique within the session. If the harness provides none, the name is random and nothing is
 * deduplicated.
 */
export function callName(meta: Record<string, unknown> | undefined): string {
  return claudeCode(meta) ?? codex(meta) ?? uniqueProgressToken(meta) ?? randomUUID();
}

function claudeCode(meta: Record<string, unknown> | undefined): string | null {
  return textOf(meta?.["claudecode/toolUseId"]);
}

/** The model's id of a call, unique within a turn. */
function codex(meta: Record<string, unknown> | undefined): string | null {
  const turn = meta?.["x-codex-turn-metadata"];
  const call = textOf(meta?.callId);
  const id = typeof turn === "object" && turn !== null && "turn_id" in turn ? textOf(turn.turn_id) : null;
  return call === null || id === null ? null : `${id}/${call}`;
}

/** Gemini CLI creates a unique token for each call. */
function uniqueProgressToken(meta: Record<string, unknown> | undefined): string | null {
  const token = textOf(meta?.progressToken);
  return token !== null && uuid.test(token) ? token : null;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
