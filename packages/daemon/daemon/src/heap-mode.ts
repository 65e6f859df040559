/**
 * Lets V8 use more memory while the daemon is busy, and less once it rests. After its start the daemon gets flags that
 * collect garbage early and skip the largest compiler, which keeps an idle daemon small; under load they would cost a
 * third of the CPU time.
 */
import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const everyMs = 1_000;
/** How much the newest second counts: short bursts, such as a start, do not change the mode. */
const weight = 0.15;
const busyAbove = 0.35;
const idleBelow = 0.05;

/** How many seconds in a row have to be idle before garbage is collected, and how much work makes it worthwhile. */
const restSeconds = 8;
const workedMsBefore = 1_000;

/**
 * V8 reads these flags each time it decides about the size of the heap or compiles a function. On the command line,
 * `--optimize-for-size` would limit the young generation to 1 MB for as long as the process runs.
 */
const flags = {
  busy: ["--no-optimize-for-size", "--semi-space-growth-factor=2", "--max-opt=3"],
  idle: ["--optimize-for-size", "--semi-space-growth-factor=1", "--max-opt=2"],
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

/** Decides when to collect all garbage: once after work, when the daemon rests. V8 alone would wait for more garbage. */
export class Rest {
  /** The start of a daemon counts as work. */
  #workedMs = workedMsBefore;
  #idleSeconds = 0;

  /** Returns true if it is time. */
  observe(active: number): boolean {
    this.#workedMs += active * everyMs;
    this.#idleSeconds = active < idleBelow ? this.#idleSeconds + 1 : 0;
    if (this.#idleSeconds < restSeconds || this.#workedMs < workedMsBefore) return false;
    this.#workedMs = 0;
    return true;
  }
}

/** Makes this process use little memory, and follows its load until it ends. */
export function followLoad(): void {
  setMode("idle");
  const mode = new HeapMode();
  const rest = new Rest();
  let last = performance.eventLoopUtilization();
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const active = performance.eventLoopUtilization(now, last).utilization;
    last = now;
    const change = mode.observe(active);
    if (change !== null) setMode(change);
    if (rest.observe(active)) collectGarbage();
  }, everyMs).unref();
}

export function setMode(mode: keyof typeof flags): void {
  for (const flag of flags[mode]) setFlagsFromString(flag);
}

/** Returns the memory that V8 no longer needs to the system, which takes about 60 ms. */
export function collectGarbage(): void {
  // The function exists only in contexts that are made while the flag is set.
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as NodeJS.GCFunction;
  setFlagsFromString("--no-expose-gc");
  collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
