/** Where a person reads in the conversation on the screen, and what scrolling loads. */
import type { SessionState } from "@aegis/client/state.ts";
import { createTranscript, type TranscriptItem } from "@aegis/client/views/transcript.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Store } from "./store.ts";
import { ListWindow } from "./window.ts";

export type ScrollBy = number | "start" | "end" | "page_up" | "page_down" | "previous" | "next";

export type ReaderOptions = {
  store: Store;
  session(): SessionId | null;
  lines(item: TranscriptItem, width: number): readonly string[];
  /** What is shown has changed. */
  onMove(): void;
};

export class Reader {
  readonly window: ListWindow<TranscriptItem>;
  readonly #options: ReaderOptions;
  readonly #transcript = createTranscript();
  /** The height of the conversation on the screen. */
  room = 0;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.window = new ListWindow(options.lines);
  }

  get items(): readonly TranscriptItem[] {
    const conversation = this.#conversation();
    return conversation === null ? [] : this.#transcript(conversation);
  }

  /** The session with the part of its conversation that is read. */
  #conversation(): SessionState | null {
    const id = this.#options.session();
    const { state, reading } = this.#options.store.model;
    const session = id === null ? undefined : state.sessions[id];
    const isPast = session !== undefined && reading?.session === session.id;
    this.window.follows = !isPast;
    return isPast ? reading.conversation : (session ?? null);
  }

  toEnd(): void {
    this.window.toEnd();
    this.#options.store.pages.setScrolled(false);
  }

  scroll(by: ScrollBy, width: number): void {
    const { pages } = this.#options.store;
    const session = this.#conversation();
    if (session === null) return;
    const { items, room } = this;
    const page = Math.max(1, room - 2);
    let near = { start: false, end: false };
    if (by === "end") this.window.toEnd();
    else if (by === "start") {
      this.window.toStart(items);
      void pages.loadStart(session.id).then(() => this.#toStart());
    } else if (by === "previous" || by === "next") {
      const step = by === "next" ? 1 : -1;
      const found = this.window.jump(items, width, room, step, ({ kind }) => kind === "message");
      near = { start: step === -1 && !found, end: step === 1 && !found };
    } else {
      const rows = by === "page_up" ? -page : by === "page_down" ? page : by;
      const found = this.window.scroll(items, width, room, rows);
      near = { start: found.start && rows < 0, end: found.end && rows > 0 };
    }
    pages.setScrolled(!this.window.following);
    if (near.start) void pages.loadOlder(session.id);
    if (near.end) void pages.loadNewer(session.id);
    this.#options.onMove();
  }

  /** The beginning was loaded; the person may have gone elsewhere meanwhile. */
  #toStart(): void {
    if (!this.window.following) this.window.toStart(this.items);
    this.#options.onMove();
  }
}
