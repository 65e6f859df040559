/** Truncates text and values that exceed a limit, and states how much was removed. All sizes are in characters. */

/**
 * Returns the start of the text and a last line that states how much is missing. `kept` is the file that holds the full
 * text.
 */
export function cutText(text: string, limit: number, more: { kept?: string | null; total?: number } = {}): string {
  const total = Math.max(text.length, more.total ?? 0);
  if (total <= limit) return text;
  const head = text.slice(0, limit).toWellFormed();
  const where = more.kept == null ? "" : `; the whole text is in ${more.kept}`;
  return `${head}${head === "" ? "" : "\n"}[${total - head.length} more characters were cut${where}]`;
}

/** Limits for the strings within a value. The first one that brings the whole value below its limit is used. */
const longestTexts = [64 * 1024, 8 * 1024, 1024, 100] as const;

/** Returns the value if it fits. Otherwise returns it with its longest strings truncated, or the start of its JSON. */
export function cutValue(value: unknown, limit: number): unknown {
  if (sizeOf(value) <= limit) return value;
  for (const longest of longestTexts) {
    const shorter = cutDeep(value, Math.min(longest, limit));
    if (sizeOf(shorter) <= limit) return shorter;
  }
  return cutText(JSON.stringify(value) ?? "", limit);
}

/** Estimates the length of the value's JSON without serializing it. */
export function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 5;
  if (Array.isArray(value)) return value.reduce((sum: number, entry) => sum + sizeOf(entry) + 1, 2);
  return Object.entries(value).reduce((sum, [key, entry]) => sum + key.length + 4 + sizeOf(entry), 2);
}

function cutDeep(value: unknown, longest: number): unknown {
  if (typeof value === "string") return cutText(value, longest);
  if (Array.isArray(value)) return value.map((entry) => cutDeep(entry, longest));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, cutDeep(entry, longest)]));
}
