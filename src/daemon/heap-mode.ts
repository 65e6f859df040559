/**
 * Lets V8 use more memory while the daemon is busy. The daemon starts with flags that collect garbage early and skip the
 * largest compiler, which keeps an idle daemon small; under load they would cost a third of the CPU time.
 */
import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";

const everyMs = 1_000;
/** How much the newest second counts: short bursts, such as a start, do not change the mode. */
const weight = 0.15;
const busyAbove = 0.35;
const idleBelow = 0.05;

/** V8 reads these flags each time it decides about the size of the heap or compiles a function. */
const flags = {
  busy: ["--no-optimize-for-size", "--max-opt=3"],
  idle: ["--optimize-for-size", "--max-opt=2"],
} as const;

/** Decides between the modes, from the share of each second that the event loop was active. */
export class HeapMode {
  #load = 0;
  #isBusy = false;

  /** Returns the mode if it changes. */
  observe(active: number): keyof typeof flags | null {
    this.#load += weight * (active - this.#load);
    const isBusy = this.#load > (this.#isBusy ? idleBelow : busyAbove);
    if (isBusy === this.#isBusy) return null;
    this.#isBusy = isBusy;
    return isBusy ? "busy" : "idle";
  }
}

/** Follows the load of this process until it ends. */
export function followLoad(): void {
  const mode = new HeapMode();
  let last = performance.eventLoopUtilization();
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const change = mode.observe(performance.eventLoopUtilization(now, last).utilization);
    last = now;
    if (change !== null) for (const flag of flags[change]) setFlagsFromString(flag);
  }, everyMs).unref();
}
