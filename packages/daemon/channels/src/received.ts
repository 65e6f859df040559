/**
 * Handles what a channel received. The row is durable before anything happens, together with the channel's position in
 * its service; a repeated delivery with the same key adds nothing. Rows are handled in order, each at least once: the
 * handler derives all ids from the key, so that handling a row again after a crash adds nothing.
 */
import { isAegisError } from "@aegis/contract/errors.ts";
import { type Backoff, backoffMs } from "@aegis/lib/backoff.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { Store, StoreTx } from "@aegis/store/store.ts";
import { Wake } from "./wake.ts";

export type ReceivedItem<T> = {
  key: string;
  payload: T;
  at: number;
  attempt: number;
  /** Marks it as handled inside the transaction of its effect. */
  done: (tx: StoreTx) => Promise<void>;
};

export type ReceivedOptions<T> = {
  store: Store;
  clock: Clock;
  log: Logger;
  channel: string;
  handle: (item: ReceivedItem<T>, signal: AbortSignal) => Promise<void>;
  /** Tells the sender that it will not be handled. */
  refused: (item: ReceivedItem<T>, error: string) => Promise<void>;
};

/** One bad item must not block the ones after it. */
export const mostAttempts = 5;
const backoff: Backoff = { firstMs: 500, longestMs: 30_000, factor: 4 };
const page = 50;

export class ReceivedItems<T> {
  readonly #options: ReceivedOptions<T>;
  readonly #wake: Wake;

  constructor(options: ReceivedOptions<T>) {
    this.#options = options;
    this.#wake = new Wake(options.clock);
  }

  /** Stores the items inside the caller's transaction. Returns how many are new; call `wake` after the commit. */
  async storeIn(tx: StoreTx, items: readonly { key: string; payload: T }[]): Promise<number> {
    const { channel, clock } = this.#options;
    let added = 0;
    for (const { key, payload } of items)
      if (await tx.channels.receive({ channel, key, payload, at: clock.now() })) added += 1;
    return added;
  }

  wake(): void {
    this.#wake.wake();
  }

  /** Resolves when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, channel, log } = this.#options;
    while (!signal.aborted) {
      this.#wake.clear();
      try {
        const rows = await store.read.channels.received(channel, page);
        for (const row of rows) {
          if (signal.aborted) return;
          const { id, key, payload, at } = row;
          const done = (tx: StoreTx) => tx.channels.handled(id, null);
          await this.#handle(id, { key, payload: payload as T, at, attempt: row.attempts + 1, done }, signal);
        }
        if (rows.length === 0) await this.#wake.sleep(null, signal);
      } catch (error) {
        log.error("a received message could not be handled yet", { channel, error: errorText(error) });
        await this.#wake.sleep(backoff.longestMs, signal);
      }
    }
  }

  async #handle(id: number, item: ReceivedItem<T>, signal: AbortSignal): Promise<void> {
    const { store, channel, log, clock, handle, refused } = this.#options;
    for (let attempt = item.attempt; ; attempt++) {
      try {
        await handle({ ...item, attempt }, signal);
        await store.transact((tx) => tx.channels.handled(id, null));
        return;
      } catch (error) {
        if (signal.aborted) return;
        const text = errorText(error);
        const isFinal = isAegisError(error) || attempt >= mostAttempts;
        if (!isFinal) {
          await store.transact((tx) => tx.channels.retryReceived(id, text));
          await clock.sleep(backoffMs(backoff, attempt), signal).catch(() => {});
          if (signal.aborted) return;
          continue;
        }
        log.warn("a received message was refused", { channel, key: item.key, error: text });
        await refused(item, text);
        await store.transact((tx) => tx.channels.handled(id, text));
        return;
      }
    }
  }
}
