/** Gives every subscriber each event once and in order: first from the store, then as it is committed. */
import type { Event, LiveDelta } from "../../contract/event.ts";
import type { SessionId } from "../../contract/ids.ts";
import type { Store } from "../../store/store.ts";
import { type DeltaItem, deltaItem, type EventItem, eventItem, type StreamItem } from "./stream-item.ts";
import { type QueueLimits, SubscriberQueue } from "./subscriber-queue.ts";

export type HubLimits = QueueLimits & {
  /** Events read from the store at a time. */
  page: number;
};

export const defaultHubLimits: HubLimits = { items: 2_000, bytes: 16 * 1024 * 1024, page: 500 };

type Subscription = { session?: SessionId | undefined; live: boolean };
type Subscriber = Subscription & { queue: SubscriberQueue };

export class EventHub {
  readonly #store: Pick<Store, "onCommit"> & { read: Pick<Store["read"], "events"> };
  readonly #limits: HubLimits;
  readonly #subscribers = new Set<Subscriber>();
  #stopListening: (() => void) | null = null;

  constructor(
    store: Pick<Store, "onCommit"> & { read: Pick<Store["read"], "events"> },
    limits: Partial<HubLimits> = {},
  ) {
    this.#store = store;
    this.#limits = { ...defaultHubLimits, ...limits };
  }

  lastSeq(): Promise<number> {
    return this.#store.read.events.lastSeq();
  }

  list(query: { after: number; limit: number; session?: SessionId | undefined }): Promise<Event[]> {
    const { after, limit, session } = query;
    return this.#store.read.events.list({ after, limit, ...(session === undefined ? {} : { session }) });
  }

  /** A session's events before a number: the newest page, in order. */
  async history(
    session: SessionId,
    query: { before?: number | undefined; limit: number },
  ): Promise<{ events: Event[]; more: boolean }> {
    const { before, limit } = query;
    const events = await this.#store.read.events.list({
      session,
      limit: limit + 1,
      from: "newest",
      ...(before === undefined ? {} : { before }),
    });
    const more = events.length > limit;
    return { events: more ? events.slice(1) : events, more };
  }

  /**
   * Ends when the signal aborts, or with `SlowSubscriberError` when the reader falls too far behind. Give `after` to
   * resume.
   */
  async *subscribe(
    options: Subscription & { after: number; signal: AbortSignal },
  ): AsyncGenerator<StreamItem, void, undefined> {
    const { session, live, signal } = options;
    const queue = new SubscriberQueue(this.#limits);
    const subscriber: Subscriber = { session, live, queue };
    let seen = options.after;
    try {
      for (let behind = true; behind; ) {
        // From before the read on, what is committed waits in the queue: nothing falls between store and queue.
        this.#attach(subscriber);
        const page = await this.list({ after: seen, limit: this.#limits.page, session });
        behind = page.length === this.#limits.page;
        // While far behind, the store keeps what comes next: a long replay must not fill the queue.
        if (behind) this.#detach(subscriber);
        else queue.forgetThrough(page.at(-1)?.seq ?? seen);
        for (const event of page) {
          if (signal.aborted) return;
          yield eventItem(event);
          seen = event.seq;
        }
      }
      for (let item = await queue.take(signal); item !== null; item = await queue.take(signal)) {
        // A commit may be announced after a read has seen it.
        if (item.kind === "event" && item.event.seq <= seen) continue;
        yield item;
      }
    } finally {
      this.#detach(subscriber);
    }
  }

  /** Text as it is written, for subscribers that watch; it is stored whole when it is complete. */
  publishDelta(delta: LiveDelta): void {
    let item: DeltaItem | null = null;
    for (const subscriber of this.#subscribers) {
      if (!subscriber.live || !wants(subscriber, delta.session)) continue;
      item ??= deltaItem(delta);
      subscriber.queue.addDelta(item);
    }
  }

  #publish(events: readonly Event[]): void {
    for (const event of events) {
      let item: EventItem | null = null;
      for (const subscriber of this.#subscribers) {
        if (!wants(subscriber, event.session)) continue;
        item ??= eventItem(event);
        subscriber.queue.add(item);
      }
    }
  }

  #attach(subscriber: Subscriber): void {
    this.#subscribers.add(subscriber);
    this.#stopListening ??= this.#store.onCommit((events) => this.#publish(events));
  }

  #detach(subscriber: Subscriber): void {
    subscriber.queue.clear();
    this.#subscribers.delete(subscriber);
    if (this.#subscribers.size > 0) return;
    this.#stopListening?.();
    this.#stopListening = null;
  }
}

function wants(subscription: Subscription, session: SessionId | null): boolean {
  return subscription.session === undefined || subscription.session === session;
}
