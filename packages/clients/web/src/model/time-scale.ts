/** Time and pixels of the flow. Pure. */
import type { FlowSpan } from "@aegis/client/model/flow.ts";

export type Segment = { from: number; to: number; folded: boolean; x: number; width: number };

const foldAfter = 120_000;

/** Time and pixels: busy stretches are drawn to scale, long idle gaps have a fixed width. */
export class TimeScale {
  readonly segments: Segment[] = [];
  readonly width: number;

  constructor(
    spans: readonly FlowSpan[],
    end: number,
    options: { pixelsPerMs: number; foldWidth: number; fold: boolean },
  ) {
    const { pixelsPerMs, foldWidth, fold } = options;
    const sorted = spans.toSorted((a, b) => a.from - b.from);
    const start = sorted[0]?.from ?? end;
    let [from, to] = [start, start];
    const pieces: Pick<Segment, "from" | "to" | "folded">[] = [];
    const closeAt = (next: number) => {
      if (!fold || next - to <= foldAfter) return;
      pieces.push({ from, to, folded: false }, { from: to, to: next, folded: true });
      from = next;
      to = next;
    };
    for (const span of sorted) {
      if (span.from > to) closeAt(span.from);
      to = Math.max(to, span.to ?? end);
    }
    closeAt(end);
    pieces.push({ from, to: Math.max(end, to, from + 1), folded: false });
    let x = 0;
    for (const piece of pieces) {
      if (piece.to <= piece.from) continue;
      const width = piece.folded ? foldWidth : (piece.to - piece.from) * pixelsPerMs;
      this.segments.push({ ...piece, x, width });
      x += width;
    }
    this.width = x;
  }

  x(time: number): number {
    const segment = this.#find((one) => one.to < time);
    return segment === undefined
      ? 0
      : segment.x + ((time - segment.from) / (segment.to - segment.from)) * segment.width;
  }

  time(x: number): number {
    const segment = this.#find((one) => one.x + one.width < x);
    if (segment === undefined) return 0;
    return segment.from + ((x - segment.x) / (segment.width || 1)) * (segment.to - segment.from);
  }

  /** How many pixels a millisecond takes if everything is to fit. */
  fit(width: number): number {
    const folded = this.segments.filter((one) => one.folded).reduce((sum, one) => sum + one.width, 0);
    const busy = this.segments.filter((one) => !one.folded).reduce((sum, one) => sum + one.to - one.from, 0);
    return Math.max(1e-7, (width - folded) / Math.max(1, busy));
  }

  #find(isBefore: (segment: Segment) => boolean): Segment | undefined {
    let [low, high] = [0, this.segments.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      const segment = this.segments[middle];
      if (segment !== undefined && isBefore(segment)) low = middle + 1;
      else high = middle;
    }
    return this.segments[low];
  }
}

const steps = [1e3, 5e3, 1e4, 3e4, 6e4, 3e5, 6e5, 1.8e6, 3.6e6, 1.08e7, 8.64e7];

/** The distance between two marks of the axis. */
export function axisStep(pixelsPerMs: number): number {
  return steps.find((step) => step * pixelsPerMs > 90) ?? 8.64e7;
}
