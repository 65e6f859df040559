/** Writes that must not be lost: a full disk only delays them. */
import { AegisError, isAegisError } from "../contract/errors.ts";
import { type Backoff, backoffMs } from "../lib/backoff.ts";
import type { Clock } from "../lib/clock.ts";
import { errorText, type Logger } from "../lib/log.ts";
import type { Store, StoreTx } from "./store.ts";

const backoff: Backoff = { firstMs: 200, longestMs: 5_000 };

/** Retries the unit until the store can write. Any other error is thrown immediately. */
export type Transact = <T>(unit: (tx: StoreTx) => Promise<T>) => Promise<T>;

export function createTransact(options: { store: Store; clock: Clock; log: Logger; signal: AbortSignal }): Transact {
  const { store, clock, log, signal } = options;
  return async (unit) => {
    for (let failures = 1; ; failures += 1) {
      try {
        return await store.transact(unit);
      } catch (error) {
        if (!cannotWrite(error) || signal.aborted) throw error;
        const delay = backoffMs(backoff, failures);
        log.error("the store cannot write; trying again", { error: errorText(error), delay_ms: delay });
        await clock.sleep(delay, signal);
      }
    }
  };
}

/** The database does not answer now. Nothing of the unit was stored, or a repetition with the same key finds it. */
export class StoreAwayError extends AegisError {
  constructor(message: string, options?: ConstructorParameters<typeof AegisError>[2]) {
    super("unavailable", message, options);
  }
}

/** The disk is full or the store is unreachable, so the write may be retried. */
export function cannotWrite(error: unknown): boolean {
  return isAegisError(error) && (error.code === "storage_full" || error.code === "unavailable");
}
