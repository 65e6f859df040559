/** What the terminal app gets from the process that runs it. */
import type { Client } from "@aegis/client/client.ts";
import type { Terminal } from "@earendil-works/pi-tui/dist/terminal.js";
import type { TuiAltScreen } from "@earendil-works/pi-tui/dist/tui-alt-screen.js";
import type { Keymap } from "./keymap.ts";
import type { Store } from "./store.ts";
import type { Theme } from "./theme.ts";

export type AppOptions = {
  client: Client;
  store: Store;
  keymap: Keymap;
  theme: Theme;
  root: string;
  terminal: Terminal;
  tui: TuiAltScreen;
  drawsImages: boolean;
  clock(): number;
  /** The daemon stops when the person leaves. */
  stopsDaemon: boolean;
  leave(): void;
  suspend(): void;
  startDaemon(): Promise<unknown>;
  /** Opens a text in the user's editor on this terminal; resolves with the saved text. */
  editText(text: string): Promise<string>;
  /** The image in the clipboard, as Base64 of a PNG file. */
  clipboardImage(): Promise<string>;
};
