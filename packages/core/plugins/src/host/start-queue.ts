/**
 * Bounds how many plugin workers start at the same time. A start that a caller waits for does not wait for its turn.
 */
export type QueuedStart<T> = {
  done: Promise<T>;
  /** Starts now, beyond the bound if necessary. */
  hurry: () => void;
};

export class StartQueue {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add<T>(start: () => Promise<T>): QueuedStart<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    const begin = () => {
      if (!this.#waiting.delete(begin)) return;
      this.#running += 1;
      const started = Promise.try(start);
      resolve(started);
      const next = () => {
        this.#running -= 1;
        this.#next();
      };
      started.then(next, next);
    };
    this.#waiting.add(begin);
    this.#next();
    return { done: promise, hurry: begin };
  }

  #next(): void {
    for (const begin of this.#waiting) {
      if (this.#running >= this.#most) return;
      begin();
    }
  }
}
