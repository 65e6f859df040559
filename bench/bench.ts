/** What a benchmark is, and what it is given. */
import type { Figure } from "./measure.ts";

export type Bench = {
  name: string;
  /** What is measured, in one line. */
  about: string;
  run(context: BenchContext): Promise<Figure[]>;
};

export type BenchContext = {
  /** Fewer and shorter rounds: shows that it runs, not how fast. */
  quick: boolean;
  /** Where the build under test is. */
  dist: string;
  /** An empty folder of the benchmark's own. */
  folder: string;
  /** Disposed of when the benchmark ends, for every outcome. */
  scope: AsyncDisposableStack;
  signal: AbortSignal;
};
