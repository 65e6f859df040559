/**
 * The parts of conversations that are in memory. The session on the screen keeps its newest rows. A reader who scrolls
 * further back than that reads a separate part, which moves with the reader: nothing else holds the whole of a long
 * conversation.
 */
import type { Client } from "@aegis/client/client.ts";
import type { FollowedItem } from "@aegis/client/events.ts";
import { Transcript } from "@aegis/client/model/transcript.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Conversation, Model } from "./model.ts";

/** More than the rows of a large terminal, and little enough to be drawn at once. */
const pageSize = 100;
const olderPageSize = 500;
const mostWaiting = 1_000;
/** Rows that the session on the screen keeps, and that a reader's part may have. */
const limits = { most: 3_000, kept: 2_000, hidden: 150 };

export type PagesOptions = {
  client: Client;
  model(): Model;
  set(change: Partial<Model>): void;
  /** The newest part of a conversation, for which a person waits, is here. */
  onOpened(): void;
};

export class Pages {
  readonly #options: PagesOptions;
  readonly #loading = new Map<SessionId, Promise<void>>();
  /** What happened in a session while its first page is on its way. */
  readonly #early = new Map<SessionId, FollowedItem[]>();
  #shown: SessionId | null = null;
  #isScrolled = false;

  constructor(options: PagesOptions) {
    this.#options = options;
  }

  get shown(): SessionId | null {
    return this.#shown;
  }

  get #model(): Model {
    return this.#options.model();
  }

  /** Adds what the stream delivers to the conversation of its session, if a person has opened it. */
  take(item: FollowedItem): void {
    const session = item.kind === "event" ? item.event.session : item.delta.session;
    if (session === null) return;
    const early = this.#early.get(session);
    if (early !== undefined) early.push(item);
    else this.#model.conversations[session]?.transcript.take(item);
  }

  /** Loads the newest part of a session's history, unless it is loaded. */
  async open(id: SessionId): Promise<void> {
    if (this.#shown !== id) this.#leaveReading();
    this.#shown = id;
    if (this.#model.conversations[id] !== undefined) return;
    await this.#load(id, async (client) => {
      const early: FollowedItem[] = [];
      this.#early.set(id, early);
      try {
        const path = { session: id };
        const waiting = client.call("listMessages", { path, query: { status: "pending", limit: mostWaiting } });
        // A failure is reported below; until then it must not count as unhandled.
        waiting.catch(() => {});
        const { events, more, messages } = await client.call("history", { path, query: { limit: pageSize } });
        const transcript = new Transcript();
        transcript.addMessages(messages);
        // Newer events arrive by the stream.
        const known = events.filter(({ seq }) => seq <= this.#model.state.last_seq);
        for (const event of known) transcript.add(event);
        this.#keep(id, { transcript, more });
        this.#options.onOpened();
        transcript.addMessages((await waiting).messages);
        for (const item of early) transcript.take(item);
        this.#keep(id, { transcript, more });
        this.markSeen(id, events.at(-1)?.seq ?? 0);
      } catch {
        // The next connection loads it again.
        const { [id]: _, ...conversations } = this.#model.conversations;
        this.#options.set({ conversations });
      } finally {
        this.#early.delete(id);
      }
    });
  }

  /** Loads the page before the oldest row that the reader has. */
  async loadOlder(id: SessionId): Promise<void> {
    const part = this.#readBy(id);
    if (part?.more !== true || !Number.isFinite(part.transcript.first)) return;
    await this.#load(id, async (client) => {
      const query = { before: part.transcript.first, limit: olderPageSize };
      const { events, more, messages } = await client.call("history", { path: { session: id }, query });
      const isFull = part.transcript.rows.length + events.length > limits.most;
      const transcript = isFull ? part.transcript.oldest(limits.most - olderPageSize) : part.transcript;
      transcript.addMessages(messages);
      transcript.addOlder(events);
      if (isFull || this.#model.reading !== null) this.#read(id, { transcript, more });
      else this.#keep(id, { transcript, more });
    });
  }

  /** Loads the page after the newest row of the reader's part, until the part meets the newest ones. */
  async loadNewer(id: SessionId): Promise<void> {
    const part = this.#model.reading;
    if (part === null) return;
    await this.#load(id, async (client) => {
      const { transcript } = part;
      const query = { after: transcript.last, limit: olderPageSize, session: id };
      const { events } = await client.call("listEvents", { query });
      for (const event of events) transcript.add(event);
      const live = this.#model.conversations[id];
      if (live === undefined || (events.length > 0 && transcript.last < live.transcript.first)) {
        const dropped = transcript.trim(limits.most);
        this.#read(id, { transcript, more: part.more || dropped > 0 });
        return;
      }
      const dropped = transcript.trim(limits.most - limits.kept);
      live.transcript.prepend(transcript);
      this.#options.set({ reading: null });
      this.#keep(id, { transcript: live.transcript, more: part.more || dropped > 0 });
    });
  }

  /** Loads the beginning of the conversation. */
  async loadStart(id: SessionId): Promise<void> {
    // A page that is on its way would otherwise take the place of this one.
    await this.#loading.get(id);
    if (this.#readBy(id)?.more !== true) return;
    await this.#load(id, async (client) => {
      const { events } = await client.call("listEvents", { query: { after: 0, limit: olderPageSize, session: id } });
      const transcript = new Transcript();
      for (const event of events) transcript.add(event);
      this.#read(id, { transcript, more: false });
    });
  }

  /** The reader is at the end, or is not. */
  setScrolled(isScrolled: boolean): void {
    this.#isScrolled = isScrolled;
    if (!isScrolled) this.#leaveReading();
  }

  /** Other clients show how many turns are unread. Losing this request does no harm. */
  markSeen(session: SessionId, seq: number): void {
    void this.#options.client.call("markSeen", { path: { session }, body: { seq } }).catch(() => {});
  }

  /** Bounds memory: sessions that are not on the screen keep little, the one on the screen keeps a few pages. */
  trim(): void {
    const { state, conversations } = this.#model;
    const kept: Record<SessionId, Conversation> = {};
    for (const [id, part] of Object.entries(conversations) as [SessionId, Conversation][]) {
      const { transcript } = part;
      const isShown = id === this.#shown;
      if (!isShown && (state.cards[id]?.state ?? "closed") === "closed") continue;
      const most = isShown ? limits.most : limits.hidden;
      // What the reader sees stays, apart from the newest rows.
      if (isShown && transcript.rows.length > most && this.#isScrolled && this.#model.reading === null)
        this.#read(id, { transcript: transcript.oldest(limits.kept), more: part.more });
      const dropped = transcript.rows.length > most ? transcript.trim(isShown ? limits.kept : most) : 0;
      kept[id] = dropped > 0 ? { transcript, more: true } : part;
    }
    this.#options.set({ conversations: kept });
  }

  #readBy(id: SessionId): Conversation | undefined {
    const { reading, conversations } = this.#model;
    return reading?.session === id ? reading : conversations[id];
  }

  #read(session: SessionId, { transcript, more }: Conversation): void {
    if (session === this.#shown) this.#options.set({ reading: { session, transcript, more } });
  }

  #keep(id: SessionId, conversation: Conversation): void {
    this.#options.set({ conversations: { ...this.#model.conversations, [id]: conversation } });
  }

  #leaveReading(): void {
    if (this.#model.reading !== null) this.#options.set({ reading: null });
  }

  /** One request at a time for a session. Scrolling again repeats a request that failed. */
  async #load(id: SessionId, work: (client: Client) => Promise<void>): Promise<void> {
    if (this.#loading.has(id)) return;
    const loaded = work(this.#options.client).catch(() => {});
    this.#loading.set(id, loaded);
    await loaded;
    this.#loading.delete(id);
  }
}
