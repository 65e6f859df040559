/** Looks up configured model prices and computes the cost of a turn's tokens. */
import { matchesPattern } from "@aegis/contract/tool-names.ts";
import type { Usage } from "@aegis/contract/turn.ts";

/** US dollars per million tokens. Cached tokens cost as much as other input unless set. */
export type Price = {
  input: number;
  output: number;
  cache_read?: number | undefined;
  cache_write?: number | undefined;
};

/** Keyed by model, or by a pattern with `*`. */
export type Prices = Readonly<Record<string, Price>>;

/** The price of the model itself, or of the longest matching pattern. */
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
