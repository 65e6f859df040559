/** The part of a store that the hub needs, in memory, with gates to hold a read or a commit's notice. */
import type { Event, EventType, NewEvent } from "@aegis/contract/event.ts";
import { type MessageId, newId, type SessionId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { CommitListener, EventQuery, EventText } from "@aegis/store/store.ts";

export class MemoryEvents {
  readonly all: Event[] = [];
  readonly messages: Message[] = [];
  readonly listeners = new Set<CommitListener>();
  reads = 0;
  /** Runs before the rows of a read are fixed: what it commits is both read and announced. */
  beforeRead: () => Promise<void> | void = () => {};
  /** Runs after the rows of a read are fixed and before the reader gets them. */
  afterRead: () => Promise<void> | void = () => {};

  readonly read = {
    events: {
      list: (query: EventQuery): Promise<Event[]> => this.#select(query),
      texts: async (query: EventQuery): Promise<EventText[]> =>
        (await this.#select(query)).map((event) => ({ seq: event.seq, json: JSON.stringify(event) })),
      sizes: async (query: EventQuery): Promise<{ seq: number; bytes: number }[]> =>
        (await this.#select(query)).map(({ seq, data }) => ({ seq, bytes: Buffer.byteLength(JSON.stringify(data)) })),
      lastSeq: async (): Promise<number> => this.all.length,
    },
    messages: {
      named: async (ids: readonly MessageId[]): Promise<Message[]> =>
        this.messages.filter(({ id }) => ids.includes(id)),
    },
  };

  async #select(query: EventQuery): Promise<Event[]> {
    this.reads += 1;
    await this.beforeRead();
    const rows = this.all.filter(
      (event) =>
        event.seq > (query.after ?? 0) &&
        event.seq < (query.before ?? Number.POSITIVE_INFINITY) &&
        (query.session === undefined || event.session === query.session),
    );
    const page = query.from === "newest" ? rows.slice(-query.limit) : rows.slice(0, query.limit);
    await this.afterRead();
    return page;
  }

  onCommit(listener: CommitListener, types?: readonly EventType[]): () => void {
    const entry: CommitListener = (events) => {
      const wanted = events.filter(({ type }) => types?.includes(type) ?? true);
      if (wanted.length > 0) listener(wanted);
    };
    this.listeners.add(entry);
    return () => this.listeners.delete(entry);
  }

  commit(...events: NewEvent[]): void {
    this.commitQuietly(...events)();
  }

  /** Returns what tells the listeners. */
  commitQuietly(...events: NewEvent[]): () => void {
    const numbered = events.map((event): Event => ({ ...event, seq: 0, at: 1_700_000_000_000 }));
    for (const event of numbered) event.seq = this.all.push(event);
    return () => {
      for (const listener of this.listeners) listener(numbered);
    };
  }
}

export const sessionA: SessionId = newId("ses", 1);
export const sessionB: SessionId = newId("ses", 2);

export function notice(text: string, session: SessionId = sessionA): NewEvent {
  return { type: "session.notice", session, data: { level: "info", text } };
}
