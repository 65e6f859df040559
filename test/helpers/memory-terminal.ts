/** A terminal that is only memory, for the terminal app without a process: what it writes goes to an emulator. */

import type { Client } from "@aegis/client/client.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { TerminalApp } from "@aegis/tui/app.ts";
import { createKeymap, freeScrollKeys } from "@aegis/tui/main.ts";
import type { Model } from "@aegis/tui/model.ts";
import { Store } from "@aegis/tui/store.ts";
import { createTheme, type Depth } from "@aegis/tui/theme.ts";
import type { Terminal } from "@earendil-works/pi-tui/dist/terminal.js";
import { TuiAltScreen } from "@earendil-works/pi-tui/dist/tui-alt-screen.js";
import xterm from "@xterm/headless";
import { now } from "./sample-team.ts";

export type MemoryApp = {
  app: TerminalApp;
  tui: TuiAltScreen;
  /** What the emulator shows. */
  shown(): Promise<string>;
  /** What the app would draw on an empty screen now. */
  drawn(): string;
  resize(columns: number, rows: number): void;
  /** Gives bytes to the program as a terminal does. */
  type(data: string): void;
  writes: string[];
  /** What the app asked of its process: `leave`, `suspend`, `start`, `edit`, `clipboard`. */
  asked: string[];
};

export type MemoryOptions = {
  columns?: number;
  rows?: number;
  depth?: Depth;
  ascii?: boolean;
  /** Default: every request fails. */
  client?: Client;
};

/** Requests to the daemon fail, so that only the screen is tested. */
const away: Client = {
  url: "http://127.0.0.1:1",
  call: () => Promise.reject(new AegisError("unavailable", "no daemon answers")),
  open: () => Promise.reject(new AegisError("unavailable", "no daemon answers")),
};

export function memoryApp(model: Model, options: MemoryOptions = {}): MemoryApp {
  const size = { columns: options.columns ?? 80, rows: options.rows ?? 24 };
  const emulator = new xterm.Terminal({ cols: size.columns, rows: size.rows, allowProposedApi: true, scrollback: 0 });
  const writes: string[] = [];
  const write = (data: string) => {
    writes.push(data);
    emulator.write(data);
  };
  let onResize = () => {};
  let onInput = (_data: string) => {};
  const asked: string[] = [];
  const client = options.client ?? away;
  const terminal: Terminal = {
    start(input, resized) {
      onInput = input;
      onResize = resized;
    },
    stop() {},
    async drainInput() {},
    write,
    get columns() {
      return size.columns;
    },
    get rows() {
      return size.rows;
    },
    kittyProtocolActive: false,
    moveBy() {},
    hideCursor: () => write("\u001b[?25l"),
    showCursor: () => write("\u001b[?25h"),
    clearLine() {},
    clearFromCursor() {},
    clearScreen() {},
    setTitle() {},
    setProgress() {},
  };
  freeScrollKeys();
  const tui = new TuiAltScreen(terminal, true, undefined, { mouse: false });
  const signal = AbortSignal.abort();
  const store = new Store({ client, signal, onChange() {}, onEvent() {}, onProblem() {} });
  store.model = model;
  const app = new TerminalApp({
    client,
    store,
    keymap: createKeymap({}),
    theme: createTheme({ depth: options.depth ?? "256", scheme: "dark", ascii: options.ascii ?? false }),
    root: "/nowhere",
    terminal,
    tui,
    drawsImages: false,
    clock: () => now,
    stopsDaemon: false,
    leave: () => asked.push("leave"),
    suspend: () => asked.push("suspend"),
    startDaemon: async () => asked.push("start"),
    async editText(text) {
      asked.push("edit");
      return text;
    },
    clipboardImage() {
      asked.push("clipboard");
      return Promise.reject(new Error("the clipboard contains no image"));
    },
  });
  tui.setLayoutRoot(app);
  tui.setFocus(app);
  tui.start();
  const text = (rows: readonly string[]) => rows.map((row) => strip(row).trimEnd()).join("\n");
  return {
    app,
    tui,
    writes,
    asked,
    type: (data) => onInput(data),
    async shown() {
      // Requests that failed at once have been reported by then.
      await new Promise<void>((resolve) => setImmediate(resolve));
      tui.renderNow();
      await new Promise<void>((resolve) => emulator.write("", resolve));
      const { active } = emulator.buffer;
      return text(Array.from({ length: size.rows }, (_, row) => active.getLine(row)?.translateToString(true) ?? ""));
    },
    drawn: () => text(app.render()),
    resize(columns, rows) {
      Object.assign(size, { columns, rows });
      emulator.resize(columns, rows);
      onResize();
    },
  };
}

const esc = "\u001b";
const bell = "\u0007";
const sequences = new RegExp(`${esc}(?:\\[[0-9;?]*[a-zA-Z]|[\\]_][^${bell}]*${bell})`, "g");

/** A row without styles and without the mark of the cursor. */
export function strip(row: string): string {
  return row.replace(sequences, "");
}
