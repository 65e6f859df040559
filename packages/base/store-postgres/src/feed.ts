/**
 * Publishes the events of all nodes, in order and without gaps. NOTIFY only says that there are new events: they are
 * read from the log. The next notification, or a check every two seconds, makes up for a lost one.
 */

import { AegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { Backoff } from "@aegis/lib/backoff.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { retry } from "@aegis/lib/retry.ts";
import type { ReadSql } from "@aegis/store/sql/sql.ts";
import { EventReads } from "@aegis/store/tables/events.ts";
import type { Client } from "pg";
import type { Connections } from "./connections.ts";

const pageSize = 500;
const lookMs = 2_000;
const backoff: Backoff = { firstMs: 100, longestMs: 2_000 };

/** What this process has published. A node that joins again opens another store with it. */
export type FeedHistory = {
  /** The number of the last event; 0 if there is none. */
  published: number;
};

export type FeedOptions = {
  connections: Connections;
  reader: ReadSql;
  /** Receives all events, and those of them that this node wrote. */
  deliver: (events: readonly Event[], own: readonly Event[]) => void;
  /** Receives what nodes tell each other. */
  hint: (text: string) => void;
  history: FeedHistory;
  /** Called once, if the server no longer has an event that was published. */
  onHistoryLost: (error: AegisError) => void;
  clock: Clock;
  log: Logger;
};

export class Feed {
  readonly #options: FeedOptions;
  readonly #events: EventReads;
  readonly #closing = new AbortController();
  #client: Client | null = null;
  #reading: Promise<void> | null = null;
  #more = false;
  #lost: AegisError | null = null;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#events = new EventReads(options.reader);
  }

  /** Listens first, so that nothing that is committed from now on is missed. */
  async open(): Promise<void> {
    await this.#listen();
    const last = await this.#events.lastSeq();
    // A node that joins again must not accept a loss that it would have noticed before.
    if (last < this.#published) throw this.#lostCommits("conflict", last);
    this.#published = last;
    void this.#look();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#reading?.catch(() => {});
    await this.#client?.end().catch(() => {});
  }

  /** Resolves when these events, which are committed, have been delivered. */
  async committed(events: readonly Event[]): Promise<void> {
    if (events[0]?.seq === this.#published + 1) {
      this.#publish(events, events);
      return;
    }
    const last = events.at(-1)?.seq ?? 0;
    while (this.#published < last && !this.#closing.signal.aborted) await this.#catchUp();
  }

  /**
   * Throws if the log ends before an event that was published, as after the promotion of an asynchronous standby. New
   * events would get numbers that other events had.
   */
  requireHistory(seq: number): void {
    if (this.#lost === null && seq >= this.#published) return;
    if (this.#lost === null) {
      this.#lost = this.#lostCommits("unavailable", seq);
      this.#options.onHistoryLost(this.#lost);
    }
    throw this.#lost;
  }

  get #published(): number {
    return this.#options.history.published;
  }

  set #published(seq: number) {
    this.#options.history.published = seq;
  }

  #lostCommits(code: "conflict" | "unavailable", seq: number): AegisError {
    const { where } = this.#options.connections;
    return new AegisError(
      code,
      `${where} has lost commits: its last event is ${seq}, and this node has published event ${this.#published}`,
      {
        hint: "an asynchronous standby was promoted, or an old backup restored. Restore the newest data, or restart every node to accept the loss",
      },
    );
  }

  async #listen(): Promise<void> {
    const { connections } = this.#options;
    const client = await connections.connect("feed", (lost) => {
      if (this.#client === lost) void this.#reconnect();
    });
    client.on("notification", ({ payload = "" }) => {
      const seq = Number(payload);
      if (Number.isNaN(seq)) this.#options.hint(payload);
      else if (seq > this.#published) void this.#catchUp();
    });
    await client.query(`LISTEN ${connections.schema}`);
    this.#client = client;
  }

  async #reconnect(): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#closing;
    this.#client = null;
    if (signal.aborted) return;
    const listen = async () => {
      await this.#listen();
      this.requireHistory(await this.#events.lastSeq());
    };
    const mayRetry = () => this.#lost === null;
    const onWait = (error: unknown) =>
      log.warn("the database does not send events; connecting again", { error: errorText(error) });
    // Given up when the store is closed or the server has lost commits; both were told before.
    await retry(listen, { backoff, clock, signal, mayRetry, onWait }).then(
      () => this.#catchUp(),
      () => {},
    );
  }

  async #look(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#options.clock.sleep(lookMs, signal).catch(() => {});
      if (!signal.aborted) await this.#catchUp();
    }
  }

  /** Resolves when everything that was committed before the call has been delivered, or reading it failed. */
  #catchUp(): Promise<void> {
    this.#more = true;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const { log, clock } = this.#options;
    const { signal } = this.#closing;
    while (this.#more && !signal.aborted) {
      this.#more = false;
      try {
        for (let full = true; full && !signal.aborted; ) {
          const { events, own } = await this.#events.page(this.#published, pageSize);
          const isNew = ({ seq }: Event) => seq > this.#published;
          this.#publish(events.filter(isNew), own.filter(isNew));
          full = events.length === pageSize;
        }
      } catch (error) {
        if (signal.aborted) return;
        log.warn("new events cannot be read; trying again", { error: errorText(error) });
        await clock.sleep(backoff.firstMs, signal).catch(() => {});
      }
    }
  }

  #publish(events: readonly Event[], own: readonly Event[]): void {
    const [first] = events;
    if (first === undefined) return;
    if (first.seq !== this.#published + 1)
      throw new AegisError("internal", `event ${this.#published + 1} is missing before event ${first.seq}`);
    this.#published = events.at(-1)?.seq ?? this.#published;
    this.#options.deliver(events, own);
  }
}
