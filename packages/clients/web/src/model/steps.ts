/** The steps of a run as bars, in percent of the time in which it worked, and its checkpoints. Pure. */
import { timeline } from "@aegis/client/views/timeline.ts";
import type { Run, Step } from "@aegis/contract/run.ts";

export type StepBar = { step: Step; left: number; width: number; ms: number };

/** A time in which no step ran: where it is folded, and how long it was. */
export type Fold = { left: number; ms: number };

const columns = 1_000;
const narrowest = 0.6;

export function barsOf(
  run: Pick<Run, "ended_at">,
  steps: readonly Step[],
  now: number,
): { bars: StepBar[]; folds: Fold[] } {
  const end = run.ended_at ?? now;
  const { bars, gaps } = timeline(steps, columns, end);
  return {
    bars: bars.map(({ step, from, to }) => {
      const width = Math.min(100, Math.max(narrowest, (100 * (to - from)) / columns));
      const left = Math.max(0, Math.min(100 - width, (100 * from) / columns));
      return { step, left, width, ms: Math.max(0, (step.ended_at ?? end) - step.started_at) };
    }),
    folds: gaps.map(({ at, ms }) => ({ left: (100 * at) / columns, ms })),
  };
}

export function isCheckpoint({ method }: Step): boolean {
  return method === "checkpoint";
}

/** The places where a fork can begin: how many checkpoints it keeps, and the last of them. */
export function forksOf(run: Pick<Run, "epoch">, steps: readonly Step[]): { kept: number; after: string | null }[] {
  // A step carries the number of checkpoints before it.
  const labels = new Map(steps.filter(isCheckpoint).map(({ epoch, label }) => [epoch + 1, label]));
  return Array.from({ length: run.epoch + 1 }, (_, kept) => ({
    kept,
    after: kept === 0 ? null : (labels.get(kept) ?? `checkpoint ${kept}`),
  }));
}
