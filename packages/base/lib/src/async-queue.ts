/**
 * Turns pushes into an async iterable for one reader. After `end`, the reader still receives the items that were pushed
 * before. A writer that awaits `room` before each push gets backpressure, so a slow reader cannot make the queue grow.
 */
export type AsyncQueueOptions<T> = {
  /** The weight of one item. */
  weigh: (item: T) => number;
  /** The queue is full at this weight. */
  most: number;
  /** Merges two adjacent queued items into one. Returns null to keep both. */
  merge: (before: T, after: T) => T | null;
  /** Merging starts at this weight. A reader that keeps up receives every item as it was pushed. */
  mergeFrom: number;
};

export class AsyncQueue<T> implements AsyncIterable<T> {
  readonly #options: AsyncQueueOptions<T>;
  #items: T[] = [];
  #weight = 0;
  #isRead = false;
  #ended = false;
  #wake: (() => void) | null = null;
  #room: PromiseWithResolvers<void> | null = null;

  constructor(options: Partial<AsyncQueueOptions<T>> = {}) {
    this.#options = { weigh: () => 1, most: Number.POSITIVE_INFINITY, merge: () => null, mergeFrom: 0, ...options };
  }

  push(item: T): void {
    if (this.#ended) return;
    const { weigh, merge, mergeFrom } = this.#options;
    const last = this.#weight < mergeFrom ? undefined : this.#items.at(-1);
    const merged = last === undefined ? null : merge(last, item);
    if (last !== undefined && merged !== null) {
      this.#weight += weigh(merged) - weigh(last);
      this.#items[this.#items.length - 1] = merged;
    } else {
      this.#weight += weigh(item);
      this.#items.push(item);
    }
    this.#wake?.();
  }

  /** Returns null if there is room or no reader. Otherwise resolves when the reader has caught up. */
  room(): Promise<void> | null {
    if (!this.#isRead || this.#weight < this.#options.most) return null;
    this.#room ??= Promise.withResolvers<void>();
    return this.#room.promise;
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    this.#isRead = true;
    try {
      while (true) {
        const items = this.#items;
        this.#items = [];
        for (const item of items) {
          this.#weight -= this.#options.weigh(item);
          if (this.#weight < this.#options.most / 2) this.#makeRoom();
          yield item;
        }
        if (this.#items.length > 0) continue;
        if (this.#ended) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = null;
      }
    } finally {
      // A reader that stops must not block the writer.
      this.#isRead = false;
      this.#makeRoom();
    }
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = null;
  }
}
