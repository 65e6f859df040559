import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { nodeOptions } from "@aegis/cli/daemon/daemon-process.ts";
import { describe, expect, it } from "vitest";
import { collectGarbage, HeapMode, Rest } from "../src/heap-mode.ts";

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

describe("the young generation", () => {
  /** Prints its size in megabytes after work in each mode. A part of the garbage lives for a while, as in a daemon. */
  const program = `
    import { getHeapSpaceStatistics } from "node:v8";
    import { setMode } from ${JSON.stringify(new URL("../src/heap-mode.ts", import.meta.url).href)};
    const kept = [];
    const sizes = {};
    for (const mode of ["idle", "busy"]) {
      setMode(mode);
      for (let made = 0; made < 2_000_000; made++) kept[made % 20_000] = { made, list: [made] };
      const { space_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
      sizes[mode] = space_size / 1024 ** 2;
    }
    process.stdout.write(JSON.stringify(sizes));
  `;

  it("is small until the daemon is busy, and grows then", { tags: "slow" }, async () => {
    const argv = [...nodeOptions, "--input-type=module", "--eval", program];
    const run = promisify(execFile);
    const sizes = await Promise.all(
      // V8 sometimes has pages in use while it copies, so the smallest of three sizes tells the limit.
      [1, 2, 3].map(
        async () => JSON.parse((await run(process.execPath, argv)).stdout) as Record<"idle" | "busy", number>,
      ),
    );
    const [idle, busy] = [sizes.map((one) => one.idle), sizes.map((one) => one.busy)].map((all) => Math.min(...all));
    expect(idle).toBeLessThanOrEqual(2);
    expect(busy).toBeGreaterThanOrEqual(8);
  });
});

describe("collecting garbage", () => {
  /** The seconds in which it is time to collect. */
  const collections = (load: readonly number[]): number[] => {
    const rest = new Rest();
    return [...load.entries()].flatMap(([second, active]) => (rest.observe(active) ? [second] : []));
  };

  it("happens once after work, when the daemon has rested", () => {
    const load = [...seconds(30, 0), ...seconds(2, 1), ...seconds(600, 0.001)];
    expect(collections(load).slice(1)).toEqual([39]);
  });

  it("happens once after the start of the daemon", () => {
    expect(collections(seconds(600, 0.001))).toEqual([7]);
  });

  it("waits for the end of the work", () => {
    expect(collections([...seconds(60, 0.1), ...seconds(5, 0), ...seconds(5, 0.1), ...seconds(60, 0)])).toEqual([77]);
  });

  it("is not worthwhile after little work", () => {
    expect(collections([...seconds(30, 0), 0.9, ...seconds(60, 0)]).slice(1)).toEqual([]);
  });

  it("frees what nothing refers to, and leaves no trace", () => {
    const kept = new WeakRef(Array.from({ length: 1_000 }, () => ({})));
    return new Promise<void>((resolve) => {
      // A reference that was read stays until the end of its event-loop turn.
      setImmediate(() => {
        collectGarbage();
        expect(kept.deref()).toBeUndefined();
        expect(globalThis).not.toHaveProperty("gc");
        resolve();
      });
    });
  });
});
