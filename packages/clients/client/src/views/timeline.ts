/** The steps of a run as bars on one time axis. Times in which no step ran are folded. */
import type { Step } from "@aegis/contract/run.ts";

export type TimelineBar = {
  readonly step: Step;
  /** Columns from 0 to `columns`. */
  readonly from: number;
  readonly to: number;
};

export type Gap = { readonly at: number; readonly ms: number };

export type Timeline = { readonly bars: readonly TimelineBar[]; readonly gaps: readonly Gap[] };

/** A gap is folded if it is longer than this and longer than a tenth of the whole time. */
const shortestGapMs = 5_000;

export function timeline(steps: readonly Step[], columns: number, now: number): Timeline {
  const spans = steps.map((step) => ({
    step,
    from: step.started_at,
    to: Math.max(step.ended_at ?? now, step.started_at),
  }));
  const [first] = spans;
  if (first === undefined || columns < 1) return { bars: [], gaps: [] };
  const start = Math.min(...spans.map(({ from }) => from));
  const end = Math.max(...spans.map(({ to }) => to));
  const idle = idleTimes(spans, end - start);
  const folded = (at: number) => idle.reduce((sum, gap) => sum + Math.max(0, Math.min(at, gap.to) - gap.from), 0);
  const total = Math.max(1, end - start - folded(end));
  const column = (at: number) => Math.round(((at - start - folded(at)) / total) * columns);
  return {
    bars: spans.map(({ step, from, to }) => {
      const left = Math.min(column(from), columns - 1);
      return { step, from: left, to: Math.max(left + 1, column(to)) };
    }),
    gaps: idle.map(({ from, to }) => ({ at: Math.min(column(from), columns), ms: to - from })),
  };
}

function idleTimes(spans: readonly { from: number; to: number }[], total: number): { from: number; to: number }[] {
  const idle: { from: number; to: number }[] = [];
  let busyUntil: number | null = null;
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    if (busyUntil !== null && from - busyUntil > Math.max(shortestGapMs, total / 10))
      idle.push({ from: busyUntil, to: from });
    busyUntil = Math.max(busyUntil ?? to, to);
  }
  return idle;
}
