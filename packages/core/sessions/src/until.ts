/** Waits for a condition on stored data: looks, and looks again after each commit that may have changed the result. */
import type { Event } from "@aegis/contract/event.ts";
import { type Clock, sleepUntil } from "@aegis/lib/clock.ts";
import { onAbort } from "@aegis/lib/until-aborted.ts";
import type { Store } from "@aegis/store/store.ts";

export type Until<T> = {
  store: Store;
  clock: Clock;
  /** Null while the condition does not hold. */
  look: () => Promise<T | null>;
  mayChange: (event: Event) => boolean;
  signal: AbortSignal;
  /** When to give up, by the clock. */
  deadline: number | null;
};

/** Null when the deadline has passed. Rejects with the signal's reason; in both cases it has looked a last time. */
export async function until<T>({ store, clock, look, mayChange, signal, deadline }: Until<T>): Promise<T | null> {
  const over = new AbortController();
  let isLate = false;
  let news = Promise.withResolvers<void>();
  const knock = () => news.resolve();
  const stopListening = store.onCommit((events) => {
    if (events.some(mayChange)) knock();
  });
  const release = onAbort(signal, knock);
  if (deadline !== null) {
    sleepUntil(clock, deadline, over.signal).then(
      () => {
        isLate = true;
        knock();
      },
      () => {},
    );
  }
  try {
    while (true) {
      const found = await look();
      if (found !== null) return found;
      signal.throwIfAborted();
      if (isLate) return null;
      await news.promise;
      // Renewed before the next look, so that it misses no change.
      news = Promise.withResolvers();
    }
  } finally {
    over.abort();
    stopListening();
    release();
  }
}
