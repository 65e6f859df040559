/**
 * Turns events into deliveries. The position in the event log and the rows of the outbox are written in one transaction,
 * so that every event after the first start of a channel leads to its deliveries exactly once.
 */
import type { Event, EventType } from "@aegis/contract/event.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { NewChannelOutboxRow, Store, StoreTx } from "@aegis/store/store.ts";
import { Wake } from "./wake.ts";

export type NewDelivery = Omit<NewChannelOutboxRow, "channel" | "created_at">;

export type FeedOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  channel: string;
  types: readonly EventType[];
  /** The deliveries that an event causes. Awaits nothing but `tx`. */
  deliveries: (tx: StoreTx, event: Event) => Promise<readonly NewDelivery[]>;
  /** Called after deliveries were added. */
  added: () => void;
};

const page = 200;
const retryMs = 5_000;

export class EventFeed {
  readonly #options: FeedOptions;
  readonly #wake: Wake;
  readonly #cursor: string;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#wake = new Wake(options.clock);
    this.#cursor = `events:${options.channel}`;
  }

  /**
   * Records the current end of the event log as the start, unless the channel has started before: it sends nothing about
   * the past. A channel must not receive anything before this resolves, because nothing would deliver the answer.
   */
  async begin(signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#options;
    const record = () =>
      store.transact(async (tx) => {
        if ((await tx.channels.cursor(this.#cursor)) === null)
          await tx.channels.setCursor(this.#cursor, String(await tx.events.lastSeq()), clock.now());
        return true;
      });
    while (!signal.aborted && !(await this.#orLater(record, signal)));
  }

  /** Call this after `begin`. Resolves when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, types } = this.#options;
    const stop = store.onCommit(() => this.#wake.wake(), types);
    try {
      while (!signal.aborted) {
        this.#wake.clear();
        const isMore = await this.#orLater(() => this.#step(), signal);
        if (isMore === false) await this.#wake.sleep(null, signal);
      }
    } finally {
      stop();
    }
  }

  /** Returns null after a failure and a pause. */
  async #orLater<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T | null> {
    const { log, channel } = this.#options;
    try {
      return await work();
    } catch (error) {
      log.error("events could not be passed to a channel", { channel, error: errorText(error) });
      await this.#wake.sleep(retryMs, signal);
      return null;
    }
  }

  /** Returns false when there is nothing more to read. */
  async #step(): Promise<boolean> {
    const { store, clock, channel, types, deliveries, added } = this.#options;
    const result = await store.transact(async (tx) => {
      const after = Number((await tx.channels.cursor(this.#cursor))?.position ?? 0);
      const events = await tx.events.list({ after, types, limit: page });
      let count = 0;
      for (const event of events)
        for (const delivery of await deliveries(tx, event))
          if (await tx.channels.addOut({ ...delivery, channel, created_at: clock.now() })) count += 1;
      const last = events.at(-1);
      if (last !== undefined) await tx.channels.setCursor(this.#cursor, String(last.seq), clock.now());
      return { count, more: events.length === page };
    });
    if (result.count > 0) added();
    return result.more;
  }
}
