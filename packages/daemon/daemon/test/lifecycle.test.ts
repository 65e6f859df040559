import { describe, expect, it } from "vitest";
import { before, Lifecycle, type Part } from "../src/lifecycle.ts";

describe("a lifecycle", () => {
  const record: string[] = [];
  const part = (name: string): Part => ({
    name,
    recover: () => void record.push(`recover ${name}`),
    start: async () => record.push(`start ${name}`),
    stop: () => void record.push(`stop ${name}`),
    settle: async () => record.push(`settle ${name}`),
  });
  const life = new Lifecycle([part("a"), { name: "has no step" }, part("b")]);

  it("recovers and starts in order, and stops and settles in the reverse order", async () => {
    record.length = 0;
    await life.recover();
    await life.start();
    await life.stop(new AbortController().signal);
    expect(record).toEqual([
      ...["recover a", "recover b", "start a", "start b"],
      ...["stop b", "stop a", "settle b", "settle a"],
    ]);
  });

  it("stops every part, also when one of them fails", async () => {
    const broken: Part = { name: "broken", stop: () => Promise.reject(new Error("the store is gone")) };
    record.length = 0;
    await expect(new Lifecycle([part("a"), broken]).stop(AbortSignal.abort())).rejects.toThrow("the store is gone");
    expect(record).toEqual(["stop a", "settle a"]);
  });

  it("stops only once: a second caller waits for the first stop", async () => {
    record.length = 0;
    const own = new Lifecycle([part("a")]);
    await Promise.all([own.stop(AbortSignal.abort()), own.stop(AbortSignal.abort())]);
    await own.stop(AbortSignal.abort());
    expect(record).toEqual(["stop a", "settle a"]);
  });

  it("gives every part the deadline", async () => {
    const never = new Promise<void>(() => {});
    const slow: Part = { name: "slow", stop: (deadline) => before(never, deadline) };
    record.length = 0;
    await new Lifecycle([part("a"), slow]).stop(AbortSignal.abort());
    expect(record).toEqual(["stop a", "settle a"]);
  });
});
