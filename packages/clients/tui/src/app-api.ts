/** What actions can do. The app implements it. */

import type { Client } from "@aegis/client/client.ts";
import type { Ask } from "@aegis/contract/ask.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { ScrollBy } from "./reader.ts";
import type { ListRow } from "./rows.ts";
import type { Store } from "./store.ts";
import type { FlashLevel, PickItem, ScreenName, Ui } from "./ui.ts";

export interface App {
  readonly client: Client;
  readonly store: Store;
  readonly ui: Ui;
  readonly now: number;
  /** The name of the key of an action, such as `Ctrl+D`. */
  keyOf(action: string): string;
  update(change: Partial<Ui>): void;
  show(screen: ScreenName): void;
  back(): void;
  openSession(id: SessionId): void;
  row(): ListRow | null;
  /** The open ask that the session screen shows; a key must not answer one that was not drawn yet. */
  drawnAsk(): Ask | null;
  select(by: number | "first" | "last"): void;
  /** Runs a request. A failure is shown; `done` is shown after success. */
  attempt(work: Promise<unknown>, done?: string): void;
  confirm(title: string, lines: readonly string[], run: () => void): void;
  input(title: string, text: string, run: (text: string) => void): void;
  pick(title: string, items: readonly PickItem[]): void;
  text(title: string, text: string): void;
  flash(text: string, level?: FlashLevel): void;
  /** The conversation on the screen. */
  scroll(by: ScrollBy): void;
  editorText(): string;
  setEditor(text: string): void;
  submit(mode: "queue" | "steer"): void;
  newLine(): void;
  /** Attaches the image in the clipboard to the message. */
  pasteImage(): void;
  /** Opens the message in the user's editor. */
  editOutside(): void;
  promptHistory(): readonly string[];
  help(): void;
  palette(): void;
  /** What goes on and what ends when the person leaves. */
  readonly afterLeaving: string;
  leave(): void;
  suspend(): void;
  redraw(): void;
  copy(text: string): void;
  startDaemon(): void;
}
