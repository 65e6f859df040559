/**
 * How much slower this machine is now than an idle one, from 1 to 8. Deadlines of tests are multiplied by it, so that a
 * test fails because something never happens, and not because other programs use the processor.
 */
import { spawnSync } from "node:child_process";
import { availableParallelism, loadavg } from "node:os";

const variable = "AEGIS_TEST_SLOWNESS";
const most = 8;

/** What an idle machine needs: a modest one, so that a faster machine counts as 1. */
const reference = { nodeStartMs: 60, loopMs: 80 };

/** Measures the machine once, for all test processes that this one starts. */
export function measureSlowness(): void {
  const starts = [1, 2, 3].map(() => timed(() => spawnSync(process.execPath, ["-e", "0"], { stdio: "ignore" })));
  const loops = [1, 2, 3].map(() => timed(loop));
  process.env[variable] = String(
    clamp(Math.max(median(starts) / reference.nodeStartMs, median(loops) / reference.loopMs)),
  );
}

/** The factor that was measured before the tests began. */
export function measuredSlowness(): number {
  return Number(process.env[variable] ?? 1);
}

/** The measured factor, or what the load of the last minute asks for if that is more. */
export function slowness(): number {
  const [lastMinute = 0] = loadavg();
  return clamp(Math.max(measuredSlowness(), lastMinute / availableParallelism()));
}

/** A deadline of an idle machine as it is on this one. */
export function scaled(ms: number): number {
  return Math.round(ms * slowness());
}

function clamp(factor: number): number {
  return Number.isFinite(factor) ? Math.min(most, Math.max(1, factor)) : 1;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function timed(work: () => unknown): number {
  const from = performance.now();
  work();
  return performance.now() - from;
}

function loop(): number {
  let sum = 0;
  for (let index = 0; index < 20_000_000; index++) sum = (sum * 31 + index) | 0;
  return sum;
}
