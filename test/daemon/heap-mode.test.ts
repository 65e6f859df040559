import { describe, expect, it } from "vitest";
import { HeapMode } from "../../src/daemon/heap-mode.ts";

/** The modes that a load gives, by the second in which each began. */
function modes(load: readonly number[]): Record<number, string> {
  const mode = new HeapMode();
  const found: Record<number, string> = {};
  for (const [second, active] of load.entries()) {
    const change = mode.observe(active);
    if (change !== null) found[second] = change;
  }
  return found;
}

const seconds = (count: number, active: number): number[] => Array.from({ length: count }, () => active);

describe("the mode of the heap", () => {
  it("stays idle through a start", () => {
    expect(modes([...seconds(2, 1), ...seconds(60, 0.01)])).toEqual({});
  });

  it("stays idle while turns come now and then", () => {
    expect(modes(seconds(600, 0.2))).toEqual({});
  });

  it("becomes busy after a few seconds of load, and idle again after the load", () => {
    expect(modes([...seconds(10, 0.9), ...seconds(60, 0)])).toEqual({ 3: "busy", 26: "idle" });
  });

  it("does not change with short gaps in the load", () => {
    expect(modes([...seconds(10, 0.9), ...seconds(5, 0), ...seconds(10, 0.9)])).toEqual({ 3: "busy" });
  });
});
