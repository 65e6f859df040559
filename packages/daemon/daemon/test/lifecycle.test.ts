import type { Store, StoreTx } from "@aegis/store/store.ts";
import { describe, expect, it } from "vitest";
import { before, Lifecycle, type Part } from "../src/lifecycle.ts";

describe("a lifecycle", () => {
  const record: string[] = [];
  const store = {
    membership: { node: "a-node" },
    async transact<T>(work: (tx: StoreTx) => Promise<T>) {
      const done = await work({} as StoreTx);
      record.push("commit");
      return done;
    },
  } as unknown as Store;
  const part = (name: string): Part => ({
    name,
    recovery: {
      async recoverIn(_tx, node) {
        record.push(`recover ${name} of ${node}`);
        return async () => record.push(`recovered ${name}`);
      },
      resume: async () => record.push(`resume ${name}`),
    },
    prepare: async () => record.push(`prepare ${name}`),
    start: async () => record.push(`start ${name}`),
    stop: () => void record.push(`stop ${name}`),
    settle: async () => record.push(`settle ${name}`),
  });
  const lifecycle = (...parts: Part[]) => new Lifecycle(parts, store);

  it("recovers and starts in order, and stops and settles in the reverse order", async () => {
    record.length = 0;
    const life = lifecycle(part("a"), { name: "has no step", recovery: null }, part("b"));
    await life.recover();
    await life.start();
    await life.stop(new AbortController().signal);
    expect(record).toEqual([
      ...["prepare a", "recover a of a-node", "commit", "recovered a"],
      ...["prepare b", "recover b of a-node", "commit", "recovered b"],
      ...["start a", "resume a", "start b", "resume b"],
      ...["stop b", "stop a", "settle b", "settle a"],
    ]);
  });

  it("stops every part, also when one of them fails", async () => {
    const stop = () => Promise.reject(new Error("the store is gone"));
    record.length = 0;
    await expect(
      lifecycle(part("a"), { name: "broken", recovery: null, stop }).stop(AbortSignal.abort()),
    ).rejects.toThrow("the store is gone");
    expect(record).toEqual(["stop a", "settle a"]);
  });

  it("stops only once: a second caller waits for the first stop", async () => {
    record.length = 0;
    const own = lifecycle(part("a"));
    await Promise.all([own.stop(AbortSignal.abort()), own.stop(AbortSignal.abort())]);
    await own.stop(AbortSignal.abort());
    expect(record).toEqual(["stop a", "settle a"]);
  });

  it("gives every part the deadline", async () => {
    const never = new Promise<void>(() => {});
    const slow: Part = { name: "slow", recovery: null, stop: (deadline) => before(never, deadline) };
    record.length = 0;
    await lifecycle(part("a"), slow).stop(AbortSignal.abort());
    expect(record).toEqual(["stop a", "settle a"]);
  });
});
