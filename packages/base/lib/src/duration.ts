/** Parses durations that people write. */

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `90`, `90s`, `1.5m`, `2h`, `1d`; null for any other text and for zero. A bare number means seconds. */
export function durationMs(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text.trim());
  if (match === null) return null;
  const ms = Math.round(Number(match[1]) * (unitMs[match[2] ?? "s"] ?? 0));
  return ms > 0 && Number.isSafeInteger(ms) ? ms : null;
}
