/**
 * With `AEGIS_TEST_BUDGET="240 360"`, a run of the tests prints its ten dearest cases, and fails if it takes more seconds
 * by the clock or more seconds of processor time, daemons included. A slower machine gets more of both, by how slow it is.
 */
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Reporter, TestModule } from "vitest/node";
import { measuredSlowness } from "./slowness.ts";

export const budgetVariable = "AEGIS_TEST_BUDGET";
const shown = 10;

export type Use = { wallSeconds: number /** Null where it cannot be counted. */; cpuSeconds: number | null };
export type Budget = { wallSeconds: number; cpuSeconds: number };

/** What the run took too much of, in words. */
export function overBudget(use: Use, budget: Budget): string[] {
  const over: string[] = [];
  if (use.wallSeconds > budget.wallSeconds) over.push(`${use.wallSeconds.toFixed(0)} s of ${budget.wallSeconds} s`);
  if ((use.cpuSeconds ?? 0) > budget.cpuSeconds) {
    over.push(`${use.cpuSeconds?.toFixed(0)} s of ${budget.cpuSeconds} s of processor time`);
  }
  return over;
}

/** Reads "240 360": seconds by the clock, seconds of processor time. */
export function parseBudget(text: string): Budget {
  const [wallSeconds = 0, cpuSeconds = 0, ...more] = text.split(" ").map(Number);
  if (!(wallSeconds > 0 && cpuSeconds > 0) || more.length > 0) {
    throw new Error(
      `${budgetVariable}: expected two numbers of seconds such as "240 360", found ${JSON.stringify(text)}`,
    );
  }
  return { wallSeconds, cpuSeconds };
}

export class BudgetReporter implements Reporter {
  readonly #budget: Budget;
  #started = performance.now();
  #group: ControlGroup | null = null;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  onInit(): void {
    this.#started = performance.now();
    this.#group = ControlGroup.join();
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const wallSeconds = (performance.now() - this.#started) / 1_000;
    const use: Use = { wallSeconds, cpuSeconds: this.#group?.cpuSeconds() ?? null };
    this.#group?.leave();
    const cases = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => ({
        ms: test.diagnostic()?.duration ?? 0,
        name: `${module.relativeModuleId} > ${test.fullName}`,
      })),
    );
    const lines = cases.toSorted((a, b) => b.ms - a.ms).slice(0, shown);
    const cpu = use.cpuSeconds === null ? "not counted" : `${use.cpuSeconds.toFixed(0)} s`;
    process.stdout.write("\nThe dearest cases:\n");
    for (const { ms, name } of lines) process.stdout.write(`  ${(ms / 1_000).toFixed(1)} s  ${name}\n`);
    process.stdout.write(`\n${cases.length} cases in ${wallSeconds.toFixed(0)} s, processor time: ${cpu}\n`);
    // The budget is that of the machine whose speed counts as one.
    const slow = measuredSlowness();
    const { wallSeconds: wall, cpuSeconds: processor } = this.#budget;
    const over = overBudget(use, { wallSeconds: Math.round(wall * slow), cpuSeconds: Math.round(processor * slow) });
    if (over.length === 0) return;
    process.stderr.write(`\nThe run is above its budget: ${over.join(", ")}\n`);
    process.exitCode = 1;
  }
}

/**
 * A control group of Linux that this process and all that it starts belong to. Times of child processes would miss each
 * daemon that a command leaves behind.
 */
class ControlGroup {
  readonly #folder: string;
  readonly #above: string;
  readonly #read: (folder: string) => number;
  readonly #before: number;

  private constructor(above: string, read: (folder: string) => number) {
    this.#above = above;
    this.#read = read;
    this.#folder = join(above, `aegis-tests-${process.pid}`);
    mkdirSync(this.#folder);
    writeFileSync(join(this.#folder, "cgroup.procs"), String(process.pid));
    this.#before = read(this.#folder);
  }

  /** Null where the system has no such groups, or this user may not make one. */
  static join(): ControlGroup | null {
    const kinds: [string, (folder: string) => number][] = [
      [
        "/sys/fs/cgroup",
        (folder) => Number(/usage_usec (\d+)/.exec(readFileSync(join(folder, "cpu.stat"), "utf8"))?.[1]) / 1e6,
      ],
      ["/sys/fs/cgroup/cpuacct", (folder) => Number(readFileSync(join(folder, "cpuacct.usage"), "utf8")) / 1e9],
    ];
    for (const [above, read] of kinds) {
      try {
        return new ControlGroup(above, read);
      } catch {
        // Another kind, or none.
      }
    }
    return null;
  }

  cpuSeconds(): number {
    return this.#read(this.#folder) - this.#before;
  }

  leave(): void {
    try {
      writeFileSync(join(this.#above, "cgroup.procs"), String(process.pid));
      rmdirSync(this.#folder);
    } catch {
      // Workers of Vitest still run in it; an empty group costs nothing.
    }
  }
}
