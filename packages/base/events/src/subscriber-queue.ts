/** The events that were committed, and the text that was streamed, since a subscriber last read. */
import type { DeltaItem, EventItem, StreamItem } from "./stream-item.ts";

export type QueueLimits = { items: number; bytes: number };

/** Bounded by count and bytes. When it is full, deltas are dropped first; then its events, which the log holds too. */
export class SubscriberQueue {
  readonly #limits: QueueLimits;
  #items: StreamItem[] = [];
  #bytes = 0;
  #overflowed = false;
  #wake: (() => void) | null = null;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  add(item: EventItem): void {
    if (this.#overflowed) return;
    if (!this.#fits(item, this.#limits)) this.#keep((waiting) => waiting.kind === "event");
    if (this.#fits(item, this.#limits)) this.#push(item);
    else this.#overflow();
  }

  /** Dropped if the reader is half a queue behind: it is not watching text appear. */
  addDelta(item: DeltaItem): void {
    const half = { items: this.#limits.items / 2, bytes: this.#limits.bytes / 2 };
    if (!this.#overflowed && this.#fits(item, half)) this.#push(item);
  }

  clear(): void {
    this.#items = [];
    this.#bytes = 0;
    this.#overflowed = false;
  }

  /** Frees the space of events that the reader received from the store. */
  forgetThrough(seq: number): void {
    this.#keep((item) => item.kind === "delta" || item.seq > seq);
  }

  /** Returns the next item, `behind` if the log holds it and the queue does not, or null after the signal aborted. */
  async take(signal: AbortSignal): Promise<StreamItem | "behind" | null> {
    while (!signal.aborted) {
      if (this.#overflowed) return "behind";
      const item = this.#items.shift();
      if (item !== undefined) {
        this.#bytes -= item.bytes;
        return item;
      }
      await this.#changed(signal);
    }
    return null;
  }

  /** A single item always fits, so that a message larger than the limit still arrives. */
  #fits(item: StreamItem, limits: QueueLimits): boolean {
    if (this.#items.length === 0) return true;
    return this.#items.length < limits.items && this.#bytes + item.bytes <= limits.bytes;
  }

  #push(item: StreamItem): void {
    this.#items.push(item);
    this.#bytes += item.bytes;
    this.#wake?.();
  }

  #keep(wanted: (item: StreamItem) => boolean): void {
    this.#items = this.#items.filter(wanted);
    this.#bytes = this.#items.reduce((sum, item) => sum + item.bytes, 0);
  }

  #overflow(): void {
    this.clear();
    this.#overflowed = true;
    this.#wake?.();
  }

  #changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        signal.removeEventListener("abort", done);
        this.#wake = null;
        resolve();
      };
      this.#wake = done;
      signal.addEventListener("abort", done, { once: true });
    });
  }
}
