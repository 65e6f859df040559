/** Waits for something the store will know: looks, and looks again after each commit that may have changed it. */
import type { Event } from "../../contract/event.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Store } from "../../store/store.ts";

export type Until<T> = {
  /** Null while it is not so yet. */
  look: () => Promise<T | null>;
  mayChange: (event: Event) => boolean;
  signal: AbortSignal;
  /** When to give up, by the clock. */
  deadline?: number | null;
};

/** Timers count in 32 bits: longer waits are taken in parts. */
const longestSleepMs = 3_600_000;

/** Null when the deadline has passed. Rejects with the signal's reason. */
export async function until<T>(store: Store, clock: Clock, wait: Until<T>): Promise<T | null> {
  const { look, mayChange, signal, deadline = null } = wait;
  const over = new AbortController();
  let news = Promise.withResolvers<void>();
  const knock = () => news.resolve();
  const stopListening = store.onCommit((events) => {
    if (events.some(mayChange)) knock();
  });
  signal.addEventListener("abort", knock, { once: true });
  try {
    while (true) {
      signal.throwIfAborted();
      const found = await look();
      if (found !== null) return found;
      const left = deadline === null ? null : deadline - clock.now();
      if (left !== null && left <= 0) return null;
      if (left !== null) void clock.sleep(Math.min(left, longestSleepMs), over.signal).then(knock, () => {});
      await news.promise;
      news = Promise.withResolvers();
    }
  } finally {
    over.abort();
    stopListening();
    signal.removeEventListener("abort", knock);
  }
}
