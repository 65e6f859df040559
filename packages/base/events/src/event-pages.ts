/** Reads the event log page by page for those who catch up. A page is bounded by count and bytes. */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { EventReads } from "@aegis/store/store.ts";
import { EventItem } from "./stream-item.ts";

export type PageLimits = { page: number; pageBytes: number };

/** `behind`: the log may hold more events. */
export type EventPage = { items: EventItem[]; behind: boolean };

export class EventPages {
  readonly #events: Pick<EventReads, "sizes" | "texts">;
  readonly #limits: PageLimits;
  /** Events larger than a page, as long as someone reads them: all who do share one text. */
  readonly #large = new Map<number, WeakRef<EventItem>>();

  constructor(events: Pick<EventReads, "sizes" | "texts">, limits: PageLimits) {
    this.#events = events;
    this.#limits = limits;
  }

  /** The sizes come first, so that no more is read than fits. A single larger event is a page of its own. */
  async next({ after, session }: { after: number; session: SessionId | undefined }): Promise<EventPage> {
    const { page, pageBytes } = this.#limits;
    const query = { after, ...(session === undefined ? {} : { session }) };
    const sizes = await this.#events.sizes({ ...query, limit: page });
    const [first] = sizes;
    if (first === undefined) return { items: [], behind: false };
    const count = fitting(sizes, pageBytes);
    const behind = count < sizes.length || sizes.length === page;
    const read = async () => (await this.#events.texts({ ...query, limit: count })).map(EventItem.stored);
    return { items: first.bytes > pageBytes ? await this.#shared(first.seq, read) : await read(), behind };
  }

  async #shared(seq: number, read: () => Promise<EventItem[]>): Promise<EventItem[]> {
    const known = this.#large.get(seq)?.deref();
    if (known !== undefined) return [known];
    for (const [other, item] of this.#large) if (item.deref() === undefined) this.#large.delete(other);
    const items = await read();
    for (const item of items) this.#large.set(item.seq, new WeakRef(item));
    return items;
  }
}

/** How many of the first events fit; at least one. */
export function fitting(sizes: readonly { bytes: number }[], most: number): number {
  let bytes = 0;
  const tooMany = sizes.findIndex((size) => {
    bytes += size.bytes;
    return bytes > most;
  });
  return tooMany === -1 ? sizes.length : Math.max(tooMany, 1);
}
