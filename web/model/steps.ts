/** The steps of a run as bars: where each begins and how long it is, in percent of the run. Pure. */
import type { Run, Step } from "../../src/contract/run.ts";

export type Bar = { step: Step; left: number; width: number; ms: number };

const narrowest = 0.6;

export function barsOf(run: Pick<Run, "created_at" | "ended_at">, steps: readonly Step[], now: number): Bar[] {
  const end = run.ended_at ?? now;
  const whole = Math.max(1, end - run.created_at);
  return steps.map((step) => {
    const ms = Math.max(0, (step.ended_at ?? end) - step.started_at);
    const width = Math.min(100, Math.max(narrowest, (100 * ms) / whole));
    const left = Math.max(0, Math.min(100 - width, (100 * (step.started_at - run.created_at)) / whole));
    return { step, left, width, ms };
  });
}

/** Numbers of the checkpoints that the steps have passed. */
export function checkpointsOf(steps: readonly Step[]): number[] {
  const last = steps.reduce((most, step) => Math.max(most, step.epoch), 0);
  return Array.from({ length: last + 1 }, (_, index) => index);
}
