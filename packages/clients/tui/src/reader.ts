/** Where a person reads in the conversation on the screen, and what scrolling loads. */
import type { SessionId } from "@aegis/contract/ids.ts";
import { type Item, Items } from "./items.ts";
import type { Conversation } from "./model.ts";
import type { Store } from "./store.ts";
import { ListWindow } from "./window.ts";

export type ScrollBy = number | "start" | "end" | "page_up" | "page_down" | "previous" | "next";

export type ReaderOptions = {
  store: Store;
  session(): SessionId | null;
  lines(item: Item, width: number): readonly string[];
  /** What is shown has changed. */
  onMove(): void;
};

export class Reader {
  readonly window: ListWindow<Item>;
  readonly #options: ReaderOptions;
  readonly #items = new Items();
  /** The height of the conversation on the screen. */
  room = 0;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.window = new ListWindow(options.lines);
  }

  get items(): readonly Item[] {
    const conversation = this.#conversation();
    return conversation === null ? [] : this.#items.of(conversation.transcript);
  }

  /** The part of the conversation that is read. */
  #conversation(): Conversation | null {
    const id = this.#options.session();
    const { conversations, reading } = this.#options.store.model;
    const isPast = id !== null && reading?.session === id;
    this.window.follows = !isPast;
    return isPast ? reading : id === null ? null : (conversations[id] ?? null);
  }

  toEnd(): void {
    this.window.toEnd();
    this.#options.store.pages.setScrolled(false);
  }

  scroll(by: ScrollBy, width: number): void {
    const { pages } = this.#options.store;
    const session = this.#options.session();
    if (session === null || this.#conversation() === null) return;
    const { items, room } = this;
    const page = Math.max(1, room - 2);
    let near = { start: false, end: false };
    if (by === "end") this.window.toEnd();
    else if (by === "start") {
      this.window.toStart(items);
      void pages.loadStart(session).then(() => this.#toStart());
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
    if (near.start) void pages.loadOlder(session);
    if (near.end) void pages.loadNewer(session);
    this.#options.onMove();
  }

  /** The beginning was loaded; the person may have gone elsewhere meanwhile. */
  #toStart(): void {
    if (!this.window.following) this.window.toStart(this.items);
    this.#options.onMove();
  }
}
