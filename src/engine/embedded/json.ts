/** Identifies steps by their arguments: equal arguments give equal text. */
import { createHash } from "node:crypto";
import { checkJson, isPlain } from "../../lib/strict-json.ts";

/** Returns the same text for the same value, independent of key order. */
export function canonical(value: unknown, what: string): string {
  if (value === undefined) return "null";
  checkJson(value, what);
  return JSON.stringify(value, (_key, item: unknown) => (isPlain(item) ? sorted(item) : item));
}

export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

function sorted(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
