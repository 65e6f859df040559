/**
 * The parts of conversations that are in memory. The session on the screen keeps its newest events. A reader who
 * scrolls further back than that reads a separate part, which moves with the reader: nothing else holds the whole of a
 * long conversation.
 */
import type { Client } from "@aegis/client/client.ts";
import { type HistoryWindow, trimSession, trimWindow, withPage, withWindow } from "@aegis/client/views/history.ts";
import { withPending } from "@aegis/client/views/seed.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { Model } from "./model.ts";

/** More than the rows of a large terminal, and little enough to be drawn at once. */
const pageSize = 100;
const olderPageSize = 500;
const mostWaiting = 1_000;
/** Events that the session on the screen keeps, and that a reader's part may have. */
const limits = { most: 3_000, kept: 2_000 };
const hiddenSession = { turns: 3, items: 50 };

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

  /** Loads the newest part of a session's history, unless it is loaded. */
  async open(id: SessionId): Promise<void> {
    if (this.#shown !== id) this.#leaveReading();
    this.#shown = id;
    if (this.#model.windows[id] !== undefined) return;
    await this.#load(id, async (client) => {
      // Collects live events until the page arrives.
      this.#options.set({ windows: { ...this.#model.windows, [id]: { events: [], more: true } } });
      try {
        const path = { session: id };
        const waiting = client.call("listMessages", { path, query: { status: "pending", limit: mostWaiting } });
        // A failure is reported below; until then it must not count as unhandled.
        waiting.catch(() => {});
        const { events, more, messages } = await client.call("history", { path, query: { limit: pageSize } });
        this.#addPage(id, events, more, messages);
        this.#options.onOpened();
        this.#options.set({ state: withPending(this.#model.state, (await waiting).messages) });
        this.markSeen(id, events.at(-1)?.seq ?? 0);
      } catch {
        // The next connection loads it again.
        const { [id]: _, ...windows } = this.#model.windows;
        this.#options.set({ windows });
      }
    });
  }

  /** Loads the page before the oldest event that the reader has. */
  async loadOlder(id: SessionId): Promise<void> {
    const window = this.#readBy(id);
    const [first] = window?.events ?? [];
    if (window === undefined || first === undefined || !window.more) return;
    await this.#load(id, async (client) => {
      const query = { before: first.seq, limit: olderPageSize };
      const { events, more, messages } = await client.call("history", { path: { session: id }, query });
      const isOwnPart = this.#model.reading !== null;
      if (!isOwnPart && window.events.length + events.length <= limits.most) this.#addPage(id, events, more, messages);
      else this.#read(id, { events: [...events, ...window.events].slice(0, limits.most), more }, messages);
    });
  }

  /** Loads the page after the newest event of the reader's part, until the part meets the newest events. */
  async loadNewer(id: SessionId): Promise<void> {
    const part = this.#model.reading?.window;
    const last = part?.events.at(-1);
    if (part === undefined || last === undefined) return;
    await this.#load(id, async (client) => {
      const query = { after: last.seq, limit: olderPageSize, session: id };
      const { events } = await client.call("listEvents", { query });
      const joined = [...part.events, ...events];
      const [firstLive] = this.#model.windows[id]?.events ?? [];
      const end = joined.at(-1)?.seq ?? 0;
      if (firstLive === undefined || (events.length > 0 && end < firstLive.seq)) {
        const kept = joined.slice(-limits.most);
        this.#read(id, { events: kept, more: part.more || kept.length < joined.length });
        return;
      }
      this.#options.set({ reading: null });
      const older = joined.filter(({ seq }) => seq < firstLive.seq).slice(-(limits.most - limits.kept));
      if (older.length > 0) this.#addPage(id, older, true);
    });
  }

  /** Loads the beginning of the conversation. */
  async loadStart(id: SessionId): Promise<void> {
    // A page that is on its way would otherwise take the place of this one.
    await this.#loading.get(id);
    if (this.#readBy(id)?.more !== true) return;
    await this.#load(id, async (client) => {
      const { events } = await client.call("listEvents", { query: { after: 0, limit: olderPageSize, session: id } });
      this.#read(id, { events, more: false });
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
    let { state } = this.#model;
    const windows = { ...this.#model.windows };
    for (const id of Object.keys(state.sessions) as SessionId[]) {
      const window = windows[id];
      if (id !== this.#shown) {
        if (window !== undefined) delete windows[id];
        state = trimSession(state, id, hiddenSession);
      } else if (window !== undefined && window.events.length > limits.most) {
        // What the reader sees stays, apart from the newest events.
        if (this.#isScrolled && this.#model.reading === null)
          this.#read(id, { events: window.events.slice(0, limits.kept), more: window.more });
        windows[id] = trimWindow(window, limits.kept);
        state = withWindow(state, id, windows[id]);
      }
    }
    this.#options.set({ state, windows });
  }

  #readBy(id: SessionId): HistoryWindow | undefined {
    const { reading, windows } = this.#model;
    return reading?.session === id ? reading.window : windows[id];
  }

  #read(session: SessionId, window: HistoryWindow, messages: readonly Message[] = []): void {
    const { state, reading } = this.#model;
    const known = state.sessions[session];
    if (known === undefined || session !== this.#shown) return;
    // Text that is being written belongs to the end of the conversation.
    const older = Object.values((reading ?? { conversation: known }).conversation.messages);
    const past = { ...known, turns: [], pending: [], messages: {} };
    const read = withWindow({ ...state, sessions: { ...state.sessions, [session]: past } }, session, window, [
      ...older.filter(({ status }) => status !== "pending"),
      ...messages,
    ]);
    const conversation = read.sessions[session];
    if (conversation !== undefined) this.#options.set({ reading: { session, window, conversation } });
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

  #addPage(id: SessionId, events: readonly Event[], more: boolean, messages: readonly Message[] = []): void {
    const { state, windows } = this.#model;
    // Newer events arrive by the stream.
    const known = events.filter(({ seq }) => seq <= state.last_seq);
    const window = withPage(windows[id], known, more);
    this.#options.set({ windows: { ...windows, [id]: window }, state: withWindow(state, id, window, messages) });
  }
}
