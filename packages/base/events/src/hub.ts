/**
 * Delivers each event to every subscriber once and in order: first from the store, then as it is committed. The queue of
 * a subscriber is bounded.
 */
import type { Event, LiveDelta } from "@aegis/contract/event.ts";
import type { MessageId, SessionId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import { TakingTurns } from "@aegis/lib/slices.ts";
import type { Store } from "@aegis/store/store.ts";
import { type EventPage, EventPages, type PageLimits } from "./event-pages.ts";
import { type DeltaItem, deltaItem, EventItem, type StreamItem } from "./stream-item.ts";
import { type QueueLimits, SubscriberQueue } from "./subscriber-queue.ts";

export type { StreamItem };

/** The limits of the queue, and of a page that is read from the store. */
export type HubLimits = QueueLimits & PageLimits;

const defaultHubLimits: HubLimits = { items: 2_000, bytes: 1024 * 1024, page: 128, pageBytes: 64 * 1024 };

type Subscription = { session?: SessionId | undefined; live: boolean };
type Subscriber = Subscription & { queue: SubscriberQueue };

type HubStore = Pick<Store, "onCommit"> & {
  read: {
    events: Pick<Store["read"]["events"], "lastSeq" | "list" | "sizes" | "texts">;
    messages: Pick<Store["read"]["messages"], "named">;
  };
};

export class EventHub {
  readonly #store: HubStore;
  readonly #limits: HubLimits;
  readonly #subscribers = new Set<Subscriber>();
  readonly #pages: EventPages;
  /** Subscribers that catch up read one after the other, so that other requests are answered in between. */
  readonly #turns = new TakingTurns();
  #stopListening: (() => void) | null = null;
  /** What open subscriptions to live text show; undefined means every session. */
  readonly #watched = new Set<{ session: SessionId | undefined }>();
  readonly #watchListeners = new Set<() => void>();

  constructor(store: HubStore, limits: Partial<HubLimits> = {}) {
    this.#store = store;
    this.#limits = { ...defaultHubLimits, ...limits };
    this.#pages = new EventPages(store.read.events, this.#limits);
  }

  lastSeq(): Promise<number> {
    return this.#store.read.events.lastSeq();
  }

  list(query: { after: number; limit: number; session?: SessionId | undefined }): Promise<Event[]> {
    const { after, limit, session } = query;
    return this.#store.read.events.list({ after, limit, ...(session === undefined ? {} : { session }) });
  }

  /** Returns a session's events before a seq: the newest page, in order, and the older messages that it needs. */
  async history(
    session: SessionId,
    query: { before?: number | undefined; limit: number },
  ): Promise<{ events: Event[]; more: boolean; messages: Message[] }> {
    const { before, limit } = query;
    const found = await this.#store.read.events.list({
      session,
      limit: limit + 1,
      from: "newest",
      ...(before === undefined ? {} : { before }),
    });
    const more = found.length > limit;
    const events = more ? found.slice(1) : found;
    return { events, more, messages: await this.#store.read.messages.named(takenBefore(events)) };
  }

  /**
   * Ends when the signal aborts. Pass `after` to resume. A subscriber that reads slowly costs one page: what it did not
   * read yet stays in the log.
   */
  async *subscribe(
    options: Subscription & { after: number; signal: AbortSignal },
  ): AsyncGenerator<StreamItem, void, undefined> {
    const { session, live, signal } = options;
    const subscriber: Subscriber = { session, live, queue: new SubscriberQueue(this.#limits) };
    let seen = options.after;
    const unwatch = live ? this.#watch(session) : () => {};
    try {
      while (!signal.aborted) {
        for (let behind = true; behind; ) {
          const page = await this.#turns.run(() => this.#catchUp(subscriber, seen, signal));
          behind = page.behind;
          for (const item of page.items) {
            if (signal.aborted) return;
            yield item;
            seen = item.seq;
          }
        }
        for (
          let item = await subscriber.queue.take(signal);
          item !== "behind";
          item = await subscriber.queue.take(signal)
        ) {
          if (item === null) return;
          if (item.kind === "event") {
            // A commit may be published after a read has returned it.
            if (item.seq <= seen) continue;
            seen = item.seq;
          }
          yield item;
        }
      }
    } finally {
      unwatch();
      this.#detach(subscriber);
    }
  }

  /** Reads the next page for a subscriber. The last one also attaches it to the commits that follow. */
  async #catchUp(subscriber: Subscriber, after: number, signal: AbortSignal): Promise<EventPage> {
    if (signal.aborted) return { items: [], behind: false };
    this.#detach(subscriber);
    // Attached before the read, so that events committed meanwhile wait in the queue and none is missed.
    this.#attach(subscriber);
    const page = await this.#pages.next({ after, session: subscriber.session });
    // While the reader is far behind, the store holds the next events, so that a long replay does not fill the queue.
    if (page.behind) this.#detach(subscriber);
    else subscriber.queue.forgetThrough(page.items.at(-1)?.seq ?? after);
    return page;
  }

  /** The sessions whose live text subscribers want. */
  get watched(): "nothing" | "all" | ReadonlySet<SessionId> {
    const sessions = [...this.#watched].map(({ session }) => session);
    if (sessions.length === 0) return "nothing";
    const named = sessions.filter((session) => session !== undefined);
    return named.length < sessions.length ? "all" : new Set(named);
  }

  /** Calls the listener when `watched` may have changed. Returns its undo. */
  onWatched(listener: () => void): () => void {
    this.#watchListeners.add(listener);
    return () => this.#watchListeners.delete(listener);
  }

  /** Publishes text while it is written. The complete text is stored at the end. */
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
        item ??= EventItem.committed(event);
        subscriber.queue.add(item);
      }
    }
  }

  #watch(session: SessionId | undefined): () => void {
    const entry = { session };
    const changed = () => {
      for (const listener of [...this.#watchListeners]) listener();
    };
    this.#watched.add(entry);
    changed();
    return () => {
      this.#watched.delete(entry);
      changed();
    };
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

/** Messages that turns of these events took although their admission is not among the events. */
function takenBefore(events: readonly Event[]): MessageId[] {
  const taken = new Set<MessageId>();
  const admitted = new Set<MessageId>();
  for (const event of events) {
    if (event.type === "message.admitted") admitted.add(event.data.message.id);
    else if (event.type === "message.steered") taken.add(event.data.message);
    else if (event.type === "turn.started") for (const id of event.data.messages) taken.add(id);
  }
  return [...taken].filter((id) => !admitted.has(id));
}
