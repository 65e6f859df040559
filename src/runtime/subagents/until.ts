/** Waits for something on record: looks again after each commit that may have changed it. */
import type { Event } from "../../contract/event.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Store } from "../../store/store.ts";

export type UntilOptions<T> = {
  store: Store;
  clock: Clock;
  /** The answer, or null while there is none. */
  look: () => Promise<T | null>;
  mayChange: (event: Event) => boolean;
  signal: AbortSignal;
  timeoutMs: number | null;
};

/** The answer, or null when the time is over. Throws the signal's reason when it aborts. */
export async function until<T>({
  store,
  clock,
  look,
  mayChange,
  signal,
  timeoutMs,
}: UntilOptions<T>): Promise<T | null> {
  let changed = Promise.withResolvers<void>();
  const stop = store.onCommit((events) => {
    if (events.some(mayChange)) changed.resolve();
  });
  const over = new AbortController();
  const gone = AbortSignal.any([signal, over.signal]);
  gone.addEventListener("abort", () => changed.resolve(), { once: true });
  if (timeoutMs !== null) {
    clock.sleep(timeoutMs, gone).then(
      () => over.abort(),
      () => {},
    );
  }
  try {
    while (true) {
      const found = await look();
      if (found !== null) return found;
      signal.throwIfAborted();
      if (over.signal.aborted) return null;
      await changed.promise;
      // Renewed before looking: a change in between is not missed.
      if (!gone.aborted) changed = Promise.withResolvers<void>();
    }
  } finally {
    over.abort();
    stop();
  }
}
