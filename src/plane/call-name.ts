/**
 * What a harness calls a call, so that one sent twice has its effect once. Numbers that a client counts up begin anew with
 * each of its connections and would take two calls for one: they are no names.
 */
import { randomUUID } from "node:crypto";

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A name that no other call of the session has. One of our own for a harness that gives none: it repeats nothing. */
export function callName(meta: Record<string, unknown> | undefined): string {
  return claudeCode(meta) ?? codex(meta) ?? uniqueProgressToken(meta) ?? randomUUID();
}

function claudeCode(meta: Record<string, unknown> | undefined): string | null {
  return textOf(meta?.["claudecode/toolUseId"]);
}

/** The model names a call within a turn. */
function codex(meta: Record<string, unknown> | undefined): string | null {
  const turn = meta?.["x-codex-turn-metadata"];
  const call = textOf(meta?.callId);
  const id = typeof turn === "object" && turn !== null && "turn_id" in turn ? textOf(turn.turn_id) : null;
  return call === null || id === null ? null : `${id}/${call}`;
}

/** Gemini CLI makes up a token for each call. */
function uniqueProgressToken(meta: Record<string, unknown> | undefined): string | null {
  const token = textOf(meta?.progressToken);
  return token !== null && uuid.test(token) ? token : null;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
