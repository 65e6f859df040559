/** Reads fields of JSON from another program. A field of the wrong type is treated as absent and never throws. */

export type JsonFields = Record<string, unknown>;

export function isObject(value: unknown): value is JsonFields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectAt(value: unknown, key: string): JsonFields {
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

/** Truncates text to one line. */
export function oneLine(text: string, limit = 120): string {
  const line = wholeLine(text);
  return line.length <= limit ? line : `${line.slice(0, limit - 1)}…`;
}

/** The whole text on one line. */
export function wholeLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
