/** Writes that must not be given up: a full disk delays a run, it does not lose it. */
import { isAegisError } from "../../contract/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import type { Store } from "../../store/store.ts";
import type { Persist } from "./records.ts";

const firstDelayMs = 200;
const longestDelayMs = 5_000;

export function createPersist(options: { store: Store; clock: Clock; log: Logger; signal: AbortSignal }): Persist {
  const { store, clock, log, signal } = options;
  return async (unit) => {
    for (let delay = firstDelayMs; ; delay = Math.min(delay * 2, longestDelayMs)) {
      try {
        return await store.transact(unit);
      } catch (error) {
        const canWait = isAegisError(error) && (error.code === "storage_full" || error.code === "unavailable");
        if (!canWait || signal.aborted) throw error;
        log.error("the store cannot write; trying again", { error: errorText(error), delay_ms: delay });
        await clock.sleep(delay, signal);
      }
    }
  };
}
