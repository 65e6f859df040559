/** Runs the terminal app until the person leaves it. The caller owns the process: streams, signals, daemon start. */

import type { Client } from "@aegis/client/client.ts";
import type { Event } from "@aegis/contract/event.ts";
import { headline } from "@aegis/contract/headline.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { KeybindingsManager, setKeybindings, TUI_KEYBINDINGS } from "@earendil-works/pi-tui/dist/keybindings.js";
import { setCapabilities } from "@earendil-works/pi-tui/dist/terminal-image.js";
import { TuiAltScreen } from "@earendil-works/pi-tui/dist/tui-alt-screen.js";
import { agentActions } from "./actions/agents.ts";
import { askActions } from "./actions/asks.ts";
import { globalActions } from "./actions/global.ts";
import { listActions } from "./actions/lists.ts";
import { sessionActions } from "./actions/session.ts";
import { teamActions } from "./actions/team.ts";
import { workActions } from "./actions/work.ts";
import { TerminalApp } from "./app.ts";
import { needsYou } from "./facts/needs-you.ts";
import { Keymap, type UserKeys } from "./keymap.ts";
import { lastAnswers } from "./last-answers.ts";
import { createNotifier, type NotifySetting } from "./notify.ts";
import { imageProtocol } from "./pictures.ts";
import { Store } from "./store.ts";
import { type Input, StreamTerminal, type TerminalOutput } from "./terminal.ts";
import { createTheme, depthOf, type Scheme, schemeOf } from "./theme.ts";

export type TuiSettings = { keys: UserKeys; notify: NotifySetting };

export type TuiOptions = {
  client: Client;
  root: string;
  stdin: Input;
  stdout: TerminalOutput;
  env: Readonly<Record<string, string | undefined>>;
  unicode: boolean;
  settings: TuiSettings;
  /** The session to show first; null shows the newest one. */
  session: SessionId | null;
  clock(): number;
  /** The daemon stops when the person leaves. */
  stopsDaemon: boolean;
  /** Ends the app: a signal, or a closed terminal. */
  signal: AbortSignal;
  startDaemon(): Promise<unknown>;
  /** Opens a text in the user's editor, which uses the terminal until it ends. */
  editText(text: string): Promise<string>;
  /** The image in the clipboard, as Base64 of a PNG file. */
  clipboardImage(): Promise<string>;
  /** Stops the job until the shell continues it. */
  suspendJob(): void;
  /** Receives functions that give the terminal back, and take it again. They may be called at any time. */
  onOpen(screen: { restore(): void; resume(): void }): void;
};

/** Events are drawn at most this often. Keys are drawn immediately. */
const frameMs = 33;

/** Throws a `RangeError` if the person's keys are not valid. */
export function createKeymap(keys: UserKeys): Keymap {
  const rows = [...listActions, ...workActions, ...teamActions, ...agentActions];
  return new Keymap([...sessionActions, ...askActions, ...rows, ...globalActions()], keys);
}

/** The app has its own keys for scrolling; pi-tui must not take them first. */
export function freeScrollKeys(): void {
  const unbound = Object.fromEntries(
    Object.keys(TUI_KEYBINDINGS)
      .filter((id) => id.startsWith("tui.altScreen."))
      .map((id) => [id, []]),
  );
  setKeybindings(new KeybindingsManager(TUI_KEYBINDINGS, unbound));
}

/** Returns the rows that stay in the scrollback: the last answers, if the person left the screen of a session. */
export async function runTui(options: TuiOptions): Promise<readonly string[]> {
  const { client, env, clock, stdout } = options;
  const keymap = createKeymap(options.settings.keys);
  freeScrollKeys();
  const images = options.unicode ? imageProtocol(env) : null;
  setCapabilities({ images, trueColor: false, hyperlinks: false });

  const left = Promise.withResolvers<void>();
  const ended = new AbortController();
  let isFocused = true;
  let frame: ReturnType<typeof setTimeout> | undefined;
  const terminal = new StreamTerminal({
    stdin: options.stdin,
    stdout,
    escapeMs: env.SSH_CONNECTION === undefined && env.SSH_TTY === undefined ? 10 : 100,
    onFocus: (focused) => {
      isFocused = focused;
    },
  });
  const tui = new TuiAltScreen(terminal, true, undefined, { mouse: false });
  const write = (text: string) => void stdout.write(text);
  const notify = createNotifier({
    setting: options.settings.notify,
    env,
    write,
    now: clock,
    isFocused: () => isFocused,
  });
  const store = new Store({
    client,
    signal: ended.signal,
    onChange() {
      frame ??= setTimeout(() => {
        frame = undefined;
        app.modelChanged();
        tui.requestRender();
      }, frameMs);
    },
    onOpened() {
      app.modelChanged();
      tui.renderNow();
    },
    onEvent(event: Event) {
      if (event.type !== "ask.opened") return;
      const open = needsYou(store.model.state);
      const [first] = open;
      notify(open.length > 1 ? `${open.length} need you` : `${first ? headline(first.session) : "an agent"} needs you`);
    },
    onProblem: (error) => app.problem(error),
  });
  const depth = depthOf(env);
  const ascii = !options.unicode;
  let theme = createTheme({ depth, ascii, scheme: schemeOf(env) });
  const setScheme = (scheme: Scheme) => {
    theme = createTheme({ depth, ascii, scheme });
    app.setTheme(theme);
    tui.requestRender();
  };
  let isOpen = false;
  const restore = () => {
    if (!isOpen) return;
    isOpen = false;
    tui.stop({ preserveScreen: true });
  };
  const resume = () => {
    if (isOpen) return;
    isOpen = true;
    tui.start();
    tui.requestRender(true);
  };
  const app: TerminalApp = new TerminalApp({
    client,
    store,
    keymap,
    theme,
    root: options.root,
    terminal,
    tui,
    drawsImages: images !== null,
    clock,
    stopsDaemon: options.stopsDaemon,
    leave: () => left.resolve(),
    suspend() {
      restore();
      options.suspendJob();
      resume();
    },
    startDaemon: options.startDaemon,
    clipboardImage: options.clipboardImage,
    async editText(text) {
      restore();
      try {
        return await options.editText(text);
      } finally {
        if (!options.signal.aborted) resume();
      }
    },
  });
  tui.setLayoutRoot(app);
  tui.setFocus(app);
  const stop = () => left.resolve();
  options.signal.addEventListener("abort", stop, { once: true });
  options.onOpen({ restore, resume });
  let running: Promise<void> = Promise.resolve();
  try {
    resume();
    if (depth !== "none")
      void tui
        .queryTerminalBackgroundColor({ timeoutMs: 100 })
        .then((colour) => colour !== undefined && isOpen && setScheme(isLight(colour) ? "light" : "dark"));
    running = store.run();
    if (options.session !== null) app.openSession(options.session);
    await left.promise;
    if (!options.signal.aborted) await terminal.drainInput();
  } finally {
    options.signal.removeEventListener("abort", stop);
    ended.abort();
    clearTimeout(frame);
    app.dispose();
    store.dispose();
    restore();
  }
  await running;
  const { screen, session } = app.ui;
  const conversation = session === null ? undefined : store.model.conversations[session];
  if (screen !== "session" || conversation === undefined) return [];
  return lastAnswers(conversation.transcript, terminal.columns, theme);
}

/** By the luminance that the eye sees. */
function isLight({ r, g, b }: { r: number; g: number; b: number }): boolean {
  const most = Math.max(r, g, b) > 1 ? 255 : 1;
  return (0.2126 * r + 0.7152 * g + 0.0722 * b) / most > 0.5;
}
