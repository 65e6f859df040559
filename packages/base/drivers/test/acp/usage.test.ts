/** What a turn cost, in each of the ways that agents tell it. */
import { describe, expect, test } from "vitest";
import { UsageMeter } from "../../src/acp/usage.ts";

const tokens = (input: number, output: number, cached = 0) => ({
  usage: { inputTokens: input, outputTokens: output, cachedReadTokens: cached, totalTokens: input + output },
});
const used = (input: number, output: number, cache_read = 0) => ({
  input,
  output,
  cache_read,
  cache_write: 0,
  cost: null,
});

describe("usage", () => {
  test("of a turn is taken as it is", () => {
    expect(new UsageMeter("turn", false).endTurn(tokens(7, 3, 2))).toEqual(used(7, 3, 2));
  });

  test("of a session is the difference between its turns, without what came from the cache", () => {
    const meter = new UsageMeter("session", false);
    expect(meter.endTurn(tokens(10, 5, 4))).toEqual(used(6, 5, 4));
    expect(meter.endTurn(tokens(30, 15, 12))).toEqual(used(12, 10, 8));
  });

  test("of a resumed session is unknown until there is something to compare with", () => {
    const meter = new UsageMeter("session", true);
    expect(meter.endTurn(tokens(100, 50))).toBeNull();
    expect(meter.endTurn(tokens(110, 55))).toEqual(used(10, 5));
  });

  test("in chunks adds up over a turn's calls, and starts again", () => {
    const meter = new UsageMeter("chunks", false);
    meter.chunk(tokens(10, 5, 4));
    meter.chunk(null);
    meter.chunk(tokens(10, 5, 4));
    expect(meter.endTurn({ stopReason: "end_turn" })).toEqual(used(12, 10, 8));
    expect(meter.endTurn({ stopReason: "end_turn" })).toBeNull();
  });

  test("in a quota is the turn's total", () => {
    const answer = { _meta: { quota: { token_count: { input_tokens: 222, output_tokens: 44 } } } };
    expect(new UsageMeter("quota", false).endTurn(answer)).toEqual(used(222, 44));
  });

  test("that is not told is null, whatever the answer", () => {
    expect(new UsageMeter("none", false).endTurn(tokens(1, 1))).toBeNull();
    expect(new UsageMeter("turn", false).endTurn({ stopReason: "end_turn" })).toBeNull();
  });

  test("has a price when the agent names one in dollars", () => {
    const meter = new UsageMeter("last_call", false);
    meter.sessionCost({ amount: 1.5, currency: "USD" });
    expect(meter.endTurn(tokens(1, 1))?.cost).toBe(1.5);
    meter.sessionCost({ amount: 9, currency: "EUR" });
    meter.sessionCost({ amount: 2, currency: "usd" });
    expect(meter.endTurn(tokens(1, 1))?.cost).toBe(0.5);
  });
});
