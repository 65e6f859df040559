/** Waits for tasks to end: looks again after each end, until what is waited for is so. */
import { AegisError } from "../../contract/errors.ts";
import type { Event } from "../../contract/event.ts";
import type { Clock } from "../../lib/clock.ts";
import { aborted } from "../../lib/until-aborted.ts";

export type WaitLimits = { signal: AbortSignal; timeoutMs?: number | undefined };

export class Waits {
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  #next = Promise.withResolvers<void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  notice(events: readonly Event[]): void {
    if (!events.some((event) => event.type === "task.ended")) return;
    this.#next.resolve();
    this.#next = Promise.withResolvers<void>();
  }

  /** The answer once there is one, or null when the time is over. Throws the signal's reason when it aborts. */
  async until<T>(look: () => Promise<T | null>, { signal, timeoutMs }: WaitLimits): Promise<T | null> {
    const over = new AbortController();
    const gone = AbortSignal.any([signal, this.#stop.signal, over.signal]);
    const left = aborted(gone);
    if (timeoutMs !== undefined) {
      this.#clock.sleep(timeoutMs, gone).then(
        () => over.abort(),
        () => {},
      );
    }
    try {
      while (true) {
        // Taken before looking: an end in between is not missed.
        const next = this.#next.promise;
        const found = await look();
        if (found !== null) return found;
        signal.throwIfAborted();
        this.#stop.signal.throwIfAborted();
        if (over.signal.aborted) return null;
        await Promise.race([next, left]);
      }
    } finally {
      over.abort();
    }
  }

  /** Lets go of everybody who waits. */
  stop(): void {
    this.#stop.abort(new AegisError("unavailable", "Aegis is stopping; the task goes on when it is up again"));
  }
}
