/**
 * A store whose transactions outlast a short loss of the database, as its reads do. If a transaction is lost on its
 * way, its unit runs again: `transact` reports a lost database only once it is certain that nothing was written. Units
 * must therefore change nothing but the store. Callers that must never give up use `createTransact` or, for a whole
 * operation, `whileAway`.
 */
import { type Clock, systemClock } from "@aegis/lib/clock.ts";
import type { Logger } from "@aegis/lib/log.ts";
import type { Store } from "./store.ts";
import { whileAway } from "./transact.ts";

/** As long as a read is repeated, and as long as a transaction tries to begin. */
const repeatForMs = 10_000;
const longestDelayMs = 1_000;
/** Waiting for a server takes real time, also when the project has an injected clock or its clock is set. */
const clock: Clock = { now: () => performance.now(), sleep: systemClock.sleep };

export function patientStore(store: Store, log: Logger): Store {
  const closing = new AbortController();
  const repetition = {
    clock,
    log,
    signal: closing.signal,
    what: "a transaction",
    forMs: repeatForMs,
    longestDelayMs,
    onlyUnstored: true,
  };
  return {
    read: store.read,
    transact: (unit) => whileAway(() => store.transact(unit), repetition),
    onCommit: (...listener) => store.onCommit(...listener),
    ...(store.membership === undefined ? {} : { membership: store.membership }),
    health: () => store.health(),
    close() {
      closing.abort();
      return store.close();
    },
  };
}
