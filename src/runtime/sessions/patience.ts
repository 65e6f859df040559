/**
 * Waits for a driver's next event, with a deadline once its turn was interrupted. One deadline covers all events of a
 * turn.
 */
import type { Clock } from "../../lib/clock.ts";

/** How long a driver has to end an interrupted turn before Aegis gives up on its conversation. */
const abortDeadlineMs = 10_000;

export class Patience {
  readonly #over = new AbortController();
  #isOut = false;
  #giveUp: (() => void) | null = null;

  constructor(clock: Clock, signal: AbortSignal) {
    const begin = () => {
      // Rejects if the turn ends first.
      clock.sleep(abortDeadlineMs, this.#over.signal).then(
        () => {
          this.#isOut = true;
          this.#giveUp?.();
        },
        () => {},
      );
    };
    if (signal.aborted) begin();
    else signal.addEventListener("abort", begin, { once: true, signal: this.#over.signal });
  }

  wait<T>(next: Promise<T>): Promise<T | "gave up"> {
    return new Promise((resolve, reject) => {
      this.#giveUp = () => resolve("gave up");
      next.then(resolve, reject);
      if (this.#isOut) resolve("gave up");
    });
  }

  end(): void {
    this.#over.abort("over");
    this.#giveUp = null;
  }
}
