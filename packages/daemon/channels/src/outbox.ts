/**
 * Sends what a channel has to send. Every delivery is a row before it is attempted, and stays one until the service has
 * accepted it or can never accept it. Rows of one place are sent in order; places do not wait for each other.
 *
 * A row is marked as `sending` before the request. If it is still `sending` afterwards, the answer was lost and the
 * delivery may have arrived: the next attempt says so (`repeated`), and the channel decides how to show it.
 */
import { type Backoff, backoffMs } from "@aegis/lib/backoff.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { ChannelOutboxChange, ChannelOutboxRow, Store } from "@aegis/store/store.ts";
import { ChannelFault } from "./fault.ts";
import type { ChannelHealth } from "./health.ts";
import { Wake } from "./wake.ts";

/** Resolves with the id that the service gave it, or null. Throws `ChannelFault`. */
export type Deliver = (
  row: ChannelOutboxRow,
  options: { repeated: boolean; signal: AbortSignal },
) => Promise<string | null>;

export type OutboxOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  channel: string;
  health: ChannelHealth;
  deliver: Deliver;
  /** The delay after that many failures, counted from 1; null gives up. */
  retryMs?: (failures: number) => number | null;
  /** The least time between two deliveries to the chat of a place. */
  paceMs?: (place: string) => number;
  /** The chat of a place: all places of a chat share its pace. Without it, each place is a chat of its own. */
  chatOf?: (place: string) => string;
  okDetail: () => string;
  /** How to repair a rejected token. */
  fix: string;
};

const defaultBackoff: Backoff = { firstMs: 1_000, longestMs: 60_000 };
/** A place that rejects messages is tried again this much later. */
const blockedMs = 3_600_000;
const storeRetryMs = 5_000;

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #wake: Wake;
  /** When each chat may be used again. */
  readonly #free = new Map<string, number>();
  #pausedUntil = 0;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#wake = new Wake(options.clock);
  }

  /** Whether nothing is sent now: the service asked to wait, or it rejects the token. */
  get isPaused(): boolean {
    return this.#pausedUntil > this.#options.clock.now();
  }

  /** A hint that there are new rows. */
  wake(): void {
    this.#wake.wake();
  }

  /** Tries everything again now, because the cause of the failures was fixed. */
  async hurry(): Promise<void> {
    this.#pausedUntil = 0;
    await this.#options.store.transact((tx) => tx.channels.hurryOut(this.#options.channel));
    this.#wake.wake();
  }

  /**
   * True if nothing waits for the place or is due in its chat, and the pace of the chat allows a message now. The next delivery then waits for the pace, so
   * that messages that are no deliveries keep the limits of the service as well.
   */
  async claim(place: string): Promise<boolean> {
    const { store, clock, channel, paceMs } = this.#options;
    const chat = this.#chatOf(place);
    const isFree = () => clock.now() >= Math.max(this.#free.get(chat) ?? 0, this.#pausedUntil);
    if (!isFree()) return false;
    const waiting = await store.read.channels.nextOut(channel);
    const isDue = (row: ChannelOutboxRow) => this.#chatOf(row.place) === chat && row.not_before <= clock.now();
    if (waiting.some((row) => row.place === place || isDue(row)) || !isFree()) return false;
    this.#free.set(chat, clock.now() + (paceMs?.(place) ?? 0));
    return true;
  }

  /** Resolves when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, channel } = this.#options;
    while (!signal.aborted) {
      try {
        this.#wake.clear();
        const next = await this.#next();
        if (next === null) await this.#wake.sleep(null, signal);
        else if (next.at > clock.now()) await this.#wake.sleep(next.at - clock.now(), signal);
        else await this.#send(next.row, signal);
      } catch (error) {
        log.error("a delivery could not be recorded", { channel, error: errorText(error) });
        await this.#wake.sleep(storeRetryMs, signal);
      }
    }
  }

  async #next(): Promise<{ row: ChannelOutboxRow; at: number } | null> {
    const rows = await this.#options.store.read.channels.nextOut(this.#options.channel);
    if (!Number.isFinite(this.#pausedUntil)) return null;
    const at = ({ not_before, place }: ChannelOutboxRow) =>
      Math.max(not_before, this.#free.get(this.#chatOf(place)) ?? 0, this.#pausedUntil);
    const [first] = rows.map((row) => ({ row, at: at(row) })).sort((a, b) => a.at - b.at || a.row.id - b.row.id);
    return first ?? null;
  }

  async #send(row: ChannelOutboxRow, signal: AbortSignal): Promise<void> {
    const { store, clock, deliver, health, okDetail, paceMs } = this.#options;
    const repeated = row.state === "sending";
    await store.transact((tx) => tx.channels.updateOut(row.id, { state: "sending" }));
    try {
      const externalId = await deliver(row, { repeated, signal });
      const sent = { state: "sent", external_id: externalId, error: null, settled_at: clock.now() } as const;
      await store.transact((tx) => tx.channels.updateOut(row.id, sent));
      // Sending works while another program receives; that problem stays visible.
      if (health.state !== "conflict") health.ok(okDetail());
    } catch (error) {
      // The daemon stops. The row stays as it is, and the next start repeats the delivery.
      if (signal.aborted) return;
      if (!(error instanceof ChannelFault)) throw error;
      await this.#failed(row, error, repeated);
    } finally {
      const pace = paceMs?.(row.place) ?? 0;
      if (pace > 0) this.#free.set(this.#chatOf(row.place), clock.now() + pace);
    }
  }

  #chatOf(place: string): string {
    return this.#options.chatOf?.(place) ?? place;
  }

  async #failed(row: ChannelOutboxRow, fault: ChannelFault, repeated: boolean): Promise<void> {
    const { store, clock, channel, log, health, retryMs, fix } = this.#options;
    const now = clock.now();
    const attempts = row.attempts + 1;
    const state = fault.mayHaveArrived || repeated ? "sending" : "waiting";
    const later = (ms: number) => ({ state, attempts, error: fault.message, not_before: now + ms }) as const;
    let tell = () => {};
    const change = (): ChannelOutboxChange => {
      switch (fault.kind) {
        case "rejected":
          return givenUp(fault, now, attempts);
        case "blocked":
          return later(blockedMs);
        case "rate_limited": {
          const wait = fault.afterMs ?? 1_000;
          this.#pausedUntil = now + wait;
          tell = () => health.set("rate_limited", fault.message);
          return { state, error: fault.message, not_before: now + wait };
        }
        case "unauthorized":
          this.#pausedUntil = Number.POSITIVE_INFINITY;
          tell = () => health.set("unauthorized", fault.message, fix);
          return later(0);
        case "gone":
          this.#pausedUntil = Number.POSITIVE_INFINITY;
          tell = () => health.set("off", fault.message, fix);
          return givenUp(fault, now, attempts);
        case "conflict":
        case "unreachable": {
          const wait = retryMs === undefined ? backoffMs(defaultBackoff, attempts) : retryMs(attempts);
          tell = () => health.set("unreachable", fault.message);
          return wait === null ? givenUp(fault, now, attempts) : later(Math.max(wait, fault.afterMs ?? 0));
        }
      }
    };
    const changed = change();
    try {
      await store.transact((tx) => tx.channels.updateOut(row.id, changed));
    } finally {
      // Not before the row: who sees the state finds the delivery that caused it.
      tell();
    }
    if (changed.state === "failed")
      log.warn("a delivery was abandoned", { channel, key: row.key, error: fault.message });
  }
}

function givenUp(fault: ChannelFault, now: number, attempts: number) {
  return { state: "failed", attempts, error: fault.message, settled_at: now } as const;
}
