import { describe, expect, it } from "vitest";
import { Calls } from "../src/calls.ts";

/** The signal of a client that does not leave. */
const stays = new AbortController().signal;

describe("calls in progress", () => {
  it("are cancelled by the id that their client gave them, with its reason", () => {
    const calls = new Calls(() => 1);
    const [one, two] = [calls.begin(1, stays), calls.begin("1", stays)];
    expect(calls.cancel(1, "enough")).toBe(true);
    expect(one.signal.reason).toMatchObject({ message: "enough" });
    expect(two.signal.aborted).toBe(false);
  });

  it("are left alone when the id names none, one that is over, or more than one", () => {
    const calls = new Calls(() => 1);
    const over = calls.begin(1, stays);
    over.end();
    expect(calls.cancel(1, "late")).toBe(false);
    const [mine, yours] = [calls.begin(2, stays), calls.begin(2, stays)];
    expect(calls.cancel(2, "whose?")).toBe(false);
    yours.end();
    expect(calls.cancel(2, "mine")).toBe(true);
    expect([mine.signal.aborted, yours.signal.aborted, over.signal.aborted]).toEqual([true, false, false]);
  });

  it("end when their client leaves, also if it left before", () => {
    const calls = new Calls(() => 1);
    const client = new AbortController();
    const [open, over] = [calls.begin(1, client.signal), calls.begin(2, client.signal)];
    over.end();
    client.abort(new Error("gone"));
    expect(open.signal.reason).toMatchObject({ message: "gone" });
    expect(over.signal.aborted).toBe(false);
    expect(calls.begin(3, client.signal).signal.reason).toMatchObject({ message: "gone" });
  });

  it("end with their credential, and so do those that begin after it", () => {
    const calls = new Calls(() => 1);
    const open = calls.begin(1, stays);
    calls.close(new Error("closed"));
    expect(open.signal.reason).toMatchObject({ message: "closed" });
    expect(calls.begin(2, stays).signal.reason).toMatchObject({ message: "closed" });
  });
});
