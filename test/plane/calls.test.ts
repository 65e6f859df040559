import { describe, expect, it } from "vitest";
import { Calls } from "../../src/plane/calls.ts";

describe("calls in progress", () => {
  it("are cancelled by the id that their client gave them, with its reason", () => {
    const calls = new Calls(() => 1);
    const [one, two] = [calls.begin(1), calls.begin("1")];
    expect(calls.cancel(1, "enough")).toBe(true);
    expect(one.signal.reason).toMatchObject({ message: "enough" });
    expect(two.signal.aborted).toBe(false);
  });

  it("are left alone when the id names none, one that is over, or more than one", () => {
    const calls = new Calls(() => 1);
    const over = calls.begin(1);
    over.end();
    expect(calls.cancel(1, "late")).toBe(false);
    const [mine, yours] = [calls.begin(2), calls.begin(2)];
    expect(calls.cancel(2, "whose?")).toBe(false);
    yours.end();
    expect(calls.cancel(2, "mine")).toBe(true);
    expect([mine.signal.aborted, yours.signal.aborted, over.signal.aborted]).toEqual([true, false, false]);
  });
});
