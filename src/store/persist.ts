/** Writes that must not be given up: a full disk delays them, it does not lose them. */
import { isAegisError } from "../contract/errors.ts";
import type { Clock } from "../lib/clock.ts";
import { errorText, type Logger } from "../lib/log.ts";
import type { Store, StoreTx } from "./store.ts";

const firstDelayMs = 200;
const longestDelayMs = 5_000;

/** Runs the unit again until the store takes it. Anything but a store that cannot write is thrown at once. */
export type Persist = <T>(unit: (tx: StoreTx) => Promise<T>) => Promise<T>;

export function createPersist(options: { store: Store; clock: Clock; log: Logger; signal: AbortSignal }): Persist {
  const { store, clock, log, signal } = options;
  return async (unit) => {
    for (let delay = firstDelayMs; ; delay = Math.min(delay * 2, longestDelayMs)) {
      try {
        return await store.transact(unit);
      } catch (error) {
        if (!cannotWrite(error) || signal.aborted) throw error;
        log.error("the store cannot write; trying again", { error: errorText(error), delay_ms: delay });
        await clock.sleep(delay, signal);
      }
    }
  };
}

/** The disk is full, or the store cannot be reached: what was to be written may be tried again. */
export function cannotWrite(error: unknown): boolean {
  return isAegisError(error) && (error.code === "storage_full" || error.code === "unavailable");
}
