/** Tokens, cost and context in a few characters. `-` means not recorded; an older daemon reports nothing. */
import type { TurnItems, Usage, UsageTotal } from "@aegis/contract/turn.ts";
import { dollars, plural } from "./text.ts";

type Total = Usage & Partial<Pick<UsageTotal, "cost_unknown">>;
type Context = TurnItems["context"];

const unknown = "-";

/** Tokens read and written; tokens read from a cache count as read. */
export function tokensText(usage: Usage | null | undefined): string {
  return usage ? `${count(inputOf(usage))}/${count(usage.output)}` : unknown;
}

/** A plus sign means that the cost of some turns is unknown. */
export function costText(usage: Total | null | undefined): string {
  if (!usage || usage.cost === null) return unknown;
  return `${dollars(usage.cost)}${(usage.cost_unknown ?? 0) > 0 ? "+" : ""}`;
}

export function contextText(context: Context | null | undefined): string {
  if (!context) return unknown;
  return context.size === null || context.size === 0
    ? count(context.used)
    : `${Math.round((100 * context.used) / context.size)}%`;
}

/** One line: `12k tokens in, 340 out, $0.12, context 20k of 200k (10%)`. Null if nothing is recorded. */
export function usageWords(usage: Total | null | undefined, context?: Context | null): string | null {
  const parts: string[] = [];
  if (usage) {
    parts.push(`${count(inputOf(usage))} tokens in`, `${count(usage.output)} out`);
    const missing = usage.cost_unknown ?? 0;
    if (usage.cost === null) parts.push("cost unknown");
    else
      parts.push(
        missing === 0 ? dollars(usage.cost) : `${dollars(usage.cost)} and ${plural(missing, "turn")} of unknown cost`,
      );
  }
  if (context) {
    const size = context.size === null || context.size === 0 ? "" : ` of ${count(context.size)}`;
    parts.push(`context ${count(context.used)}${size}${size === "" ? "" : ` (${contextText(context)})`}`);
  }
  return parts.length === 0 ? null : parts.join(", ");
}

function inputOf({ input, cache_read, cache_write }: Usage): number {
  return input + cache_read + cache_write;
}

function count(tokens: number): string {
  if (tokens < 1_000) return String(tokens);
  const [value, unit] = tokens < 999_500 ? [tokens / 1_000, "k"] : [tokens / 1_000_000, "M"];
  return `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)}${unit}`;
}
