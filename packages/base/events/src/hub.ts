/**
 * Delivers each event to every subscriber once and in order: first from the store, then as it is committed. The queue of
 * a subscriber is bounded.
 */
import type { Event, LiveDelta } from "@aegis/contract/event.ts";
import type { MessageId, SessionId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { Store } from "@aegis/store/store.ts";

/** What a subscriber receives. Created once per event and shared by all subscribers, including its serialized form. */
export type StreamItem = EventItem | DeltaItem;
type EventItem = { kind: "event"; event: Event } & Serialised;
type DeltaItem = { kind: "delta"; delta: LiveDelta } & Serialised;

type Serialised = { readonly json: string; readonly bytes: number };

function eventItem(event: Event): EventItem {
  return { kind: "event", event, ...serialise(event) };
}

function deltaItem(delta: LiveDelta): DeltaItem {
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

export type HubLimits = QueueLimits & {
  /** The number of events per read from the store. */
  page: number;
};

const defaultHubLimits: HubLimits = { items: 2_000, bytes: 16 * 1024 * 1024, page: 500 };

type Subscription = { session?: SessionId | undefined; live: boolean };
type Subscriber = Subscription & { queue: SubscriberQueue };

type HubStore = Pick<Store, "onCommit"> & {
  read: Pick<Store["read"], "events"> & { messages: Pick<Store["read"]["messages"], "named"> };
};

export class EventHub {
  readonly #store: HubStore;
  readonly #limits: HubLimits;
  readonly #subscribers = new Set<Subscriber>();
  #stopListening: (() => void) | null = null;
  /** What open subscriptions to live text show; undefined means every session. */
  readonly #watched = new Set<{ session: SessionId | undefined }>();
  readonly #watchListeners = new Set<() => void>();

  constructor(store: HubStore, limits: Partial<HubLimits> = {}) {
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
   * Ends when the signal aborts, or with `SlowSubscriberError` if the reader falls too far behind. Pass `after` to
   * resume.
   */
  async *subscribe(
    options: Subscription & { after: number; signal: AbortSignal },
  ): AsyncGenerator<StreamItem, void, undefined> {
    const { session, live, signal } = options;
    const queue = new SubscriberQueue(this.#limits);
    const subscriber: Subscriber = { session, live, queue };
    let seen = options.after;
    const unwatch = live ? this.#watch(session) : () => {};
    try {
      for (let behind = true; behind; ) {
        // Attached before the read, so that events committed meanwhile wait in the queue and none is missed.
        this.#attach(subscriber);
        const page = await this.list({ after: seen, limit: this.#limits.page, session });
        behind = page.length === this.#limits.page;
        // While the reader is far behind, the store holds the next events, so that a long replay does not fill the
        // queue.
        if (behind) this.#detach(subscriber);
        else queue.forgetThrough(page.at(-1)?.seq ?? seen);
        for (const event of page) {
          if (signal.aborted) return;
          yield eventItem(event);
          seen = event.seq;
        }
      }
      for (let item = await queue.take(signal); item !== null; item = await queue.take(signal)) {
        // A commit may be published after a read has returned it.
        if (item.kind === "event" && item.event.seq <= seen) continue;
        yield item;
      }
    } finally {
      unwatch();
      this.#detach(subscriber);
    }
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
        item ??= eventItem(event);
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

/** Bounded by count and bytes. When it is full, deltas are dropped first, then the subscriber. */
class SubscriberQueue {
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
