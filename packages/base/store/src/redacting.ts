/**
 * A store that keeps no value of a known secret longer than it is needed. What each column may hold is decided beside
 * its row in `tables/`. A message keeps its text until the end of its turn is recorded, because a crash before that sends
 * it again; a task keeps its payload until it has completed or was cancelled, because a failed one can be put back; an
 * answer to an ask is kept until the asking session has received it.
 */
import type { Redact } from "@aegis/lib/redact.ts";
import type { Store } from "./store.ts";

/** `redact` must use the secrets of the moment, because a new configuration may bring new ones. */
export function redactingStore(store: Store, redact: Redact): Store {
  return {
    read: store.read,
    transact: (unit) => store.transact((tx) => unit(tx.redacting(redact))),
    onCommit: (...listener) => store.onCommit(...listener),
    ...(store.membership === undefined ? {} : { membership: store.membership }),
    health: () => store.health(),
    close: () => store.close(),
  };
}
