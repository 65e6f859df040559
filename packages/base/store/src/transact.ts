/** Writes and other work that must not be lost: a full disk or an unavailable database only delays them. */
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import type { Backoff } from "@aegis/lib/backoff.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { retry } from "@aegis/lib/retry.ts";
import type { Store, StoreTx } from "./store.ts";

const backoff: Backoff = { firstMs: 200, longestMs: 5_000 };

/** Retries the unit until the store can write. Any other error is thrown immediately. */
export type Transact = <T>(unit: (tx: StoreTx) => Promise<T>) => Promise<T>;

export function createTransact(options: { store: Store; clock: Clock; log: Logger; signal: AbortSignal }): Transact {
  const { store, clock, log, signal } = options;
  const onWait = (error: unknown, delay: number) =>
    log.error("the store cannot write; trying again", { error: errorText(error), delay_ms: delay });
  return (unit) => retry(() => store.transact(unit), { backoff, clock, signal, mayRetry: mayWriteLater, onWait });
}

export type Repetition = {
  clock: Clock;
  log: Logger;
  /** When it aborts, the last error is thrown. */
  signal: AbortSignal;
  /** What is repeated, for the log: `a tool call`. */
  what: string;
  details?: Record<string, unknown>;
  /** How long. Default: until the database is back. */
  forMs?: number;
  /** Repeat only what certainly was not stored. For work that is not idempotent. */
  onlyUnstored?: boolean;
  longestDelayMs?: number;
};

/** Does the work again while it meets a lost database. The work must be idempotent: a part of it may have been done. */
export async function whileAway<T>(work: () => Promise<T>, repetition: Repetition): Promise<T> {
  const { clock, log, signal, what, details = {}, forMs = Number.POSITIVE_INFINITY } = repetition;
  const { longestDelayMs = backoff.longestMs } = repetition;
  const mayRepeat = (error: unknown) =>
    error instanceof StoreAwayError || (error instanceof OutcomeUnknownError && repetition.onlyUnstored !== true);
  const until = clock.now() + forMs;
  return retry(work, {
    backoff: { ...backoff, longestMs: longestDelayMs },
    clock,
    signal,
    mayRetry: (error, delay) => mayRepeat(error) && clock.now() + delay <= until,
    onWait: (error, delay) =>
      log.warn(`${what} lost the database; trying again`, { ...details, error: errorText(error), delay_ms: delay }),
  });
}

/** The database does not answer now. Nothing of the unit was stored, or a repetition with the same key finds it. */
export class StoreAwayError extends AegisError {
  constructor(message: string, options?: ConstructorParameters<typeof AegisError>[2]) {
    super("unavailable", message, options);
  }
}

/** A unit may have been stored: the server that knew was replaced by its standby. */
export class OutcomeUnknownError extends AegisError {
  constructor(message: string) {
    super("internal", message);
  }
}

/** This store never writes again: it was closed, or its node lost its lease. The next store of the project may. */
export class StoreOverError extends AegisError {
  constructor(message: string, options?: ConstructorParameters<typeof AegisError>[2]) {
    super("unavailable", message, options);
  }
}

/** The disk is full or the store is unreachable: nothing was written, and work that needs the write has not failed. */
export function cannotWrite(error: unknown): boolean {
  return isAegisError(error) && (error.code === "storage_full" || error.code === "unavailable");
}

/** Whether the same store may take the write later. */
export function mayWriteLater(error: unknown): boolean {
  return cannotWrite(error) && !(error instanceof StoreOverError);
}
