/**
 * Serializes a value to JSON with sorted keys, so that equal values give equal text. Values that JSON cannot represent
 * are omitted.
 */
export function canonicalJson(value: unknown): string {
  return write(JSON.parse(JSON.stringify(value) ?? "null"));
}

function write(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(write).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const sorted = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([key, entry]) => `${JSON.stringify(key)}:${write(entry)}`).join(",")}}`;
}
