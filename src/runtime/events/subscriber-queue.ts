/**
 * The queue of one subscriber, bounded by count and bytes. When it is full, deltas are dropped first, then the
 * subscriber.
 */
import type { Event, LiveDelta } from "../../contract/event.ts";

/** What a subscriber receives. Created once per event and shared by all subscribers, including its serialized form. */
export type StreamItem = EventItem | DeltaItem;
export type EventItem = { kind: "event"; event: Event } & Serialised;
export type DeltaItem = { kind: "delta"; delta: LiveDelta } & Serialised;

type Serialised = { readonly json: string; readonly bytes: number };

export function eventItem(event: Event): EventItem {
  return { kind: "event", event, ...serialise(event) };
}

export function deltaItem(delta: LiveDelta): DeltaItem {
  return { kind: "delta", delta, ...serialise(delta) };
}

function serialise(value: Event | LiveDelta): Serialised {
  const json = JSON.stringify(value);
  return { json, bytes: Buffer.byteLength(json) };
}

export type QueueLimits = { items: number; bytes: number };

/** The subscriber read too slowly. No event is lost: it resumes after the last seq that it received. */
export class SlowSubscriberError extends Error {
  override readonly name = "SlowSubscriberError";

  constructor(limits: QueueLimits) {
    super(
      `the subscriber fell more than ${limits.items} events or ${limits.bytes} bytes behind; resume after the last seq it received`,
    );
  }
}

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
    this.#keep((item) => item.kind === "delta" || item.event.seq > seq);
  }

  /** Returns the next item, or null after the signal aborted. Throws `SlowSubscriberError` if items were dropped. */
  async take(signal: AbortSignal): Promise<StreamItem | null> {
    while (!signal.aborted) {
      if (this.#overflowed) throw new SlowSubscriberError(this.#limits);
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
