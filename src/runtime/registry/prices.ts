/** What models cost, as the project says, and what the tokens of a turn come to. */
import { matchesPattern } from "../../contract/tool-names.ts";
import type { Usage } from "../../contract/turn.ts";

/** US dollars for a million tokens. What goes through a cache costs as much as other input where that is not said. */
export type Price = {
  input: number;
  output: number;
  cache_read?: number | undefined;
  cache_write?: number | undefined;
};

/** By model, or by a pattern with `*`. */
export type Prices = Readonly<Record<string, Price>>;

/** That of the model itself, else that of the longest pattern it fits. */
export function priceOf(model: string, prices: Prices): Price | null {
  if (Object.hasOwn(prices, model)) return prices[model] ?? null;
  const [nearest] = Object.keys(prices)
    .filter((pattern) => pattern.includes("*") && matchesPattern(model, pattern))
    .sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  return nearest === undefined ? null : (prices[nearest] ?? null);
}

export function costOf({ input, output, cache_read, cache_write }: Usage, price: Price): number {
  const parts = [
    input * price.input,
    output * price.output,
    cache_read * (price.cache_read ?? price.input),
    cache_write * (price.cache_write ?? price.input),
  ];
  return parts.reduce((sum, part) => sum + part, 0) / 1_000_000;
}
