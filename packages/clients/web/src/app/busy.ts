/** Requests that change something: one at a time per button, and what went wrong is said where it was done. */

import { isAegisError } from "@aegis/contract/errors.ts";
import { type Signal, signal } from "@preact/signals";
import { useMemo } from "preact/hooks";

export type BusyAction = {
  busy: Signal<boolean>;
  problem: Signal<string | null>;
  /** Returns whether it worked. */
  run(work: () => Promise<unknown>): Promise<boolean>;
};

export function useAction(): BusyAction {
  return useMemo(() => {
    const busy = signal(false);
    const problem = signal<string | null>(null);
    const run = async (work: () => Promise<unknown>): Promise<boolean> => {
      if (busy.peek()) return false;
      busy.value = true;
      problem.value = null;
      try {
        await work();
        return true;
      } catch (error) {
        problem.value = problemText(error);
        return false;
      } finally {
        busy.value = false;
      }
    };
    return { busy, problem, run };
  }, []);
}

export function problemText(error: unknown): string {
  if (isAegisError(error)) return error.hint === undefined ? error.message : `${error.message}: ${error.hint}`;
  return error instanceof Error ? error.message : String(error);
}
