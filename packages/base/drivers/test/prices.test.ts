import { describe, expect, it } from "vitest";
import { costOf, priceOf } from "../src/prices.ts";

const usage = { input: 1_000_000, output: 2_000_000, cache_read: 4_000_000, cache_write: 8_000_000, cost: null };

describe("the price of a model", () => {
  const prices = {
    "*": { input: 9, output: 9 },
    "anthropic/*": { input: 3, output: 15 },
    "anthropic/claude-haiku-*": { input: 1, output: 5 },
    "anthropic/claude-haiku-4-5": { input: 2, output: 2 },
  };

  it.each([
    ["anthropic/claude-haiku-4-5", 2],
    ["anthropic/claude-haiku-3", 1],
    ["anthropic/claude-opus-4-5", 3],
    ["gpt-5.5", 9],
  ])("%s is its own, else that of the longest pattern", (model, input) => {
    expect(priceOf(model, prices)?.input).toBe(input);
  });

  it("is not known without an entry, nor found in what every object has", () => {
    expect(priceOf("a/b", { "a/c": { input: 1, output: 1 } })).toBeNull();
    expect(priceOf("constructor", {})).toBeNull();
  });
});

describe("what tokens cost", () => {
  it("is told for a million of each kind", () => {
    expect(costOf(usage, { input: 1, output: 10, cache_read: 0.5, cache_write: 2 })).toBe(1 + 20 + 2 + 16);
  });

  it("is that of other input where a cache has no price of its own", () => {
    expect(costOf(usage, { input: 1, output: 0 })).toBe(1 + 4 + 8);
    expect(costOf(usage, { input: 1, output: 0, cache_read: 0, cache_write: 0 })).toBe(1);
  });
});
