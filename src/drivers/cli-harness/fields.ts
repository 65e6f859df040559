/** Reads fields of JSON that another program wrote: what is not of the wanted type is absent, never an error. */

export type Json = Record<string, unknown>;

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectAt(value: unknown, key: string): Json {
  const field = isObject(value) ? value[key] : undefined;
  return isObject(field) ? field : {};
}

export function listAt(value: unknown, key: string): unknown[] {
  const field = isObject(value) ? value[key] : undefined;
  return Array.isArray(field) ? field : [];
}

export function textAt(value: unknown, key: string): string | null {
  const field = isObject(value) ? value[key] : undefined;
  return typeof field === "string" ? field : null;
}

export function numberAt(value: unknown, key: string): number | null {
  const field = isObject(value) ? value[key] : undefined;
  return typeof field === "number" && Number.isFinite(field) ? field : null;
}

/** Cuts for one line of text that people read. */
export function oneLine(text: string, limit = 120): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= limit ? line : `${line.slice(0, limit - 1)}…`;
}
