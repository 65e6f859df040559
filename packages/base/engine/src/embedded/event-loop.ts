/**
 * Delivers results to a body one at a time, each in its own turn of the event loop. What a body requests between two
 * results then depends only on the results, not on the number of promises in between.
 */
export class EventLoopQueue {
  readonly #waiting: (() => void)[] = [];
  readonly #onQuiet: () => void;
  #scheduled = false;
  #gave = false;
  #stopped = false;

  /** `onQuiet` is called when the body has had a whole event-loop turn and no result is pending. */
  constructor(onQuiet: () => void) {
    this.#onQuiet = onQuiet;
  }

  give(result: () => void): void {
    if (this.#gave || this.#waiting.length > 0) this.#waiting.push(result);
    else this.#hand(result);
    this.wake();
  }

  wake(): void {
    if (this.#scheduled || this.#stopped) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#iterate();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#waiting.length = 0;
  }

  #iterate(): void {
    if (this.#stopped) return;
    this.#gave = false;
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#onQuiet();
      return;
    }
    this.#hand(next);
    this.wake();
  }

  #hand(result: () => void): void {
    if (this.#stopped) return;
    this.#gave = true;
    result();
  }
}
