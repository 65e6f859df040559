/** How everything here is measured: subjects take turns in one run, and only their ratio is a result. */

/** One line of the report. `base` is what the same machine did without Aegis, or with less of it, in the same run. */
export type Figure = {
  name: string;
  unit: Unit;
  ours: number;
  base: number;
  /** What `base` was measured on. */
  against: string;
  ratio: number;
  goal: { text: string; met: boolean } | null;
};

export type Unit = "/s" | "ms" | "µs" | "MB" | "kB" | "% CPU" | "";

export type Goal =
  | { ratioAtLeast: number }
  | { ratioAtMost: number }
  /** For promises about the value itself. */
  | { valueBelow: number };

export type Compared = Pick<Figure, "ours" | "base" | "ratio">;

/** Two values that were taken from all rounds together. */
export function compareValues(ours: number, base: number): Compared {
  return { ours, base, ratio: ours / base };
}

/** Medians; the ratio is that of each round, because a round sees one machine and the next may see a busier one. */
export function compareRounds(ours: readonly number[], base: readonly number[]): Compared {
  const ratios = ours.map((value, round) => value / (base[round] ?? Number.NaN));
  return { ours: median(ours), base: median(base), ratio: median(ratios) };
}

export function figure(input: Omit<Figure, keyof Compared | "goal">, compared: Compared, goal?: Goal): Figure {
  return { ...input, ...compared, goal: goal === undefined ? null : judge(goal, compared, input.unit) };
}

/**
 * Runs every subject `rounds` times, in turns and in an order that turns around each round, so that a machine that
 * slows down meanwhile slows all of them. The first round only warms up.
 */
export async function interleave<Name extends string, T>(
  subjects: Readonly<Record<Name, () => Promise<T>>>,
  rounds: number,
  signal: AbortSignal,
): Promise<Record<Name, T[]>> {
  const names = Object.keys(subjects) as Name[];
  const results = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, T[]>;
  for (let round = 0; round <= rounds; round++) {
    const order = round % 2 === 0 ? names : names.toReversed();
    for (const name of order) {
      signal.throwIfAborted();
      const result = await subjects[name]();
      if (round > 0) results[name].push(result);
    }
  }
  return results;
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** The nearest-rank percentile. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const rank = Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1);
  const value = sorted[rank];
  if (value === undefined) throw new Error("there is no percentile of nothing");
  return value;
}

/** How often per second `work` was done when it was done `count` times. */
export async function rate(count: number, work: () => Promise<unknown>): Promise<number> {
  return (count * 1000) / (await elapsed(work));
}

/** In milliseconds. */
export async function elapsed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function judge(goal: Goal, { ours, ratio }: Compared, unit: Unit): Figure["goal"] {
  if ("ratioAtLeast" in goal) return { text: `>= ${goal.ratioAtLeast}x`, met: ratio >= goal.ratioAtLeast };
  if ("ratioAtMost" in goal) return { text: `< ${goal.ratioAtMost}x`, met: ratio < goal.ratioAtMost };
  return { text: `< ${goal.valueBelow} ${unit}`, met: ours < goal.valueBelow };
}
