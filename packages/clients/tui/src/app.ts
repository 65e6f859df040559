/** The app: connects the store, the keys, the editor and the screen. It is the one component that pi-tui draws. */

import type { Client } from "@aegis/client/client.ts";
import type { Card } from "@aegis/client/model/board.ts";
import type { Ask } from "@aegis/contract/ask.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import { newId, type SessionId } from "@aegis/contract/ids.ts";
import type { Editor } from "@earendil-works/pi-tui/dist/components/editor.js";
import { isKeyRelease, matchesKey } from "@earendil-works/pi-tui/dist/keys.js";
import type { Component } from "@earendil-works/pi-tui/dist/tui.js";
import type { App } from "./app-api.ts";
import type { AppOptions } from "./app-options.ts";
import { checkedRow } from "./checked.ts";
import { Composer } from "./composer.ts";
import { dialogKey } from "./dialogs.ts";
import { firstSession } from "./facts/team.ts";
import { helpText, hintsFor, openPalette } from "./guide.ts";
import { keyName } from "./keymap.ts";
import type { ListName } from "./lists.ts";
import type { Model } from "./model.ts";
import { Pictures } from "./pictures.ts";
import { Reader, type ScrollBy } from "./reader.ts";
import { type ListRow, rowsOf, selectedRow } from "./rows.ts";
import { runSlash, slashCommands } from "./slash.ts";
import type { Store } from "./store.ts";
import type { Theme } from "./theme.ts";
import { type FlashLevel, firstUi, type PickItem, type ScreenName, type Ui } from "./ui.ts";
import { drawScreen, isTooSmall } from "./view/screen.ts";
import { itemLines, type TranscriptLook } from "./view/transcript.ts";

const listsOf: Readonly<Record<ScreenName, readonly ListName[]>> = {
  session: ["status"],
  dashboard: ["queues", "schedules"],
  needs: ["status"],
  team: ["groups"],
  agents: ["agents", "skills", "plugins"],
};
const mostPrompts = 200;

export class TerminalApp implements App, Component {
  readonly client: Client;
  readonly store: Store;
  ui: Ui = firstUi;
  readonly editor: Editor;
  readonly #options: AppOptions;
  #theme: Theme;
  readonly #reader: Reader;
  readonly #composer: Composer;
  readonly #pictures: Pictures;
  #known: { model: Model | null; ui: Ui | null; rows: readonly ListRow[] } = { model: null, ui: null, rows: [] };
  #drawnAsk: Ask | null = null;
  #usesClock = false;
  #tick: ReturnType<typeof setTimeout> | undefined;

  constructor(options: AppOptions) {
    this.#options = options;
    this.client = options.client;
    this.store = options.store;
    this.#theme = options.theme;
    this.#reader = new Reader({
      store: options.store,
      session: () => this.ui.session,
      lines: (item, width) => itemLines(item, width, this.#look()),
      onMove: () => options.tui.requestRender(),
    });
    this.#pictures = new Pictures(options.client, () => {
      this.#reader.window.invalidate();
      options.tui.requestRender();
    });
    this.#composer = new Composer({
      tui: options.tui,
      root: options.root,
      paint: (role, text) => this.#theme.paint(role, text),
      commands: () => slashCommands(this).catch(() => []),
      now: options.clock,
      onSend: (text) => this.#send(text, "queue"),
    });
    this.editor = this.#composer.editor;
    this.store.want(listsOf.session);
  }

  #look(): TranscriptLook {
    const { drawsImages } = this.#options;
    return {
      theme: this.#theme,
      unfolded: this.ui.unfolded,
      ...(drawsImages ? { picture: (...of) => this.#pictures.lines(...of) } : {}),
    };
  }

  get now(): number {
    return this.#options.clock();
  }

  keyOf(action: string): string {
    return keyName(this.#options.keymap.keysOf(action)[0] ?? "");
  }

  setTheme(theme: Theme): void {
    this.#theme = theme;
    this.#reader.window.invalidate();
  }

  invalidate(): void {}

  render(): string[] {
    const { terminal, keymap } = this.#options;
    const size = { columns: terminal.columns, rows: terminal.rows };
    this.#usesClock = false;
    const now = this.now;
    const cx = {
      model: this.store.model,
      ui: this.ui,
      theme: this.#theme,
      now,
      keyOf: (action: string) => this.keyOf(action),
      clock: () => {
        this.#usesClock = true;
        return now;
      },
    };
    const isTyping = this.ui.screen === "session" && this.ui.dialog === null;
    this.editor.focused = isTyping;
    const editor = this.ui.screen === "session" && !isTooSmall(size) ? this.editor.render(size.columns) : [];
    const session = this.#session();
    const { items, window } = this.#reader;
    const { rows, room, ask } = drawScreen(cx, {
      size,
      hints: hintsFor(this, keymap),
      session: session === null ? null : { session, items, window, editor },
      editor,
    });
    this.#reader.room = room;
    if (ask?.id !== this.#drawnAsk?.id) {
      // The keys in the last row depend on the ask.
      this.#drawnAsk = ask;
      return this.render();
    }
    this.#drawnAsk = ask;
    this.#armClock();
    return [...rows];
  }

  /** Draws again at the next full second, but only while a clock is visible. */
  #armClock(): void {
    clearTimeout(this.#tick);
    if (!this.#usesClock) return;
    this.#tick = setTimeout(() => this.#options.tui.requestRender(), 1_000 - (this.now % 1_000));
    this.#tick.unref();
  }

  dispose(): void {
    clearTimeout(this.#tick);
  }

  handleInput(data: string): void {
    if (isKeyRelease(data)) return;
    const { dialog } = this.ui;
    if (dialog !== null) {
      const step = dialogKey(dialog, data);
      if (step.dialog !== dialog) this.update({ dialog: step.dialog });
      step.run?.();
      // A filter that a dialog set may have changed the selected row.
      this.#watchSelection();
      return;
    }
    if (this.ui.flash !== null) this.update({ flash: null });
    const action = this.#isCompleting(data) ? null : this.#options.keymap.resolve(data, this);
    if (action !== null) action.run(this);
    else if (this.ui.screen === "session") this.editor.handleInput(data);
    this.#watchSelection();
  }

  /** Keys that belong to the list of completions while it is open. */
  #isCompleting(data: string): boolean {
    if (this.ui.screen !== "session" || !this.editor.isShowingAutocomplete()) return false;
    return (["enter", "tab", "up", "down", "escape"] as const).some((key) => matchesKey(data, key));
  }

  #session(): Card | null {
    const { session } = this.ui;
    if (session === null) return null;
    return this.store.model.state.cards[session] ?? null;
  }

  /** Called after each change of the model. */
  modelChanged(): void {
    this.#watchSelection();
    const { state } = this.store.model;
    const open = this.ui.session === null ? undefined : state.cards[this.ui.session];
    // A session that this app started is open before its first event arrives.
    if (this.ui.session !== null && open?.state !== "closed") return;
    const next = firstSession(state);
    if (next !== null && this.ui.screen === "session") this.openSession(next.id);
    else if (open !== undefined) this.update({ session: null });
  }

  update(change: Partial<Ui>): void {
    const unfolded = this.ui.unfolded;
    this.ui = { ...this.ui, ...change };
    if (this.ui.unfolded !== unfolded) this.#reader.window.invalidate();
    this.#options.tui.requestRender();
  }

  show(screen: ScreenName): void {
    this.store.want(listsOf[screen]);
    this.update({ screen, filter: "" });
    this.#watchSelection();
  }

  back(): void {
    if (this.ui.filter !== "") this.update({ filter: "" });
    else this.show("session");
  }

  openSession(id: SessionId): void {
    const { session } = this.ui;
    if (session !== id) {
      this.#composer.switchTo(id, session);
      this.#reader.toEnd();
    }
    this.update({ session: id });
    this.show("session");
    void this.store.openSession(id);
  }

  /** Every action asks for the row to know whether it applies, so the rows of one moment are computed once. */
  #rows(): readonly ListRow[] {
    const { ui } = this;
    const { model } = this.store;
    if (this.#known.model !== model || this.#known.ui !== ui)
      this.#known = { model, ui, rows: rowsOf(ui.screen, model, ui) };
    return this.#known.rows;
  }

  row(): ListRow | null {
    return selectedRow(this.#rows(), this.ui);
  }

  drawnAsk(): Ask | null {
    const open = this.store.model.state.asks.some(({ id }) => id === this.#drawnAsk?.id);
    return this.ui.screen === "session" && open ? this.#drawnAsk : null;
  }

  select(by: number | "first" | "last"): void {
    const rows = this.#rows();
    const selected = selectedRow(rows, this.ui);
    const at = selected === null ? 0 : rows.indexOf(selected);
    const to = by === "first" ? 0 : by === "last" ? rows.length - 1 : Math.max(0, Math.min(rows.length - 1, at + by));
    const key = rows[to]?.key;
    if (key !== undefined) this.update({ selected: { ...this.ui.selected, [this.ui.screen]: key } });
  }

  /** DETAIL shows the steps of a run, the slots of a schedule and receipts, which are read for the selected row only. */
  #watchSelection(): void {
    const row = this.ui.screen === "dashboard" ? this.row() : null;
    this.store.watchRun(row?.kind === "run" ? row.run.id : null);
    if (row?.kind === "schedule") void this.store.watchSchedule(row.schedule);
    const checked = row === null ? null : checkedRow(row);
    if (checked !== null) void this.store.watchChecks(checked);
  }

  attempt(work: Promise<unknown>, done?: string): void {
    work.then(
      () => done !== undefined && this.flash(done),
      (error: unknown) => this.problem(error),
    );
  }

  problem(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    const hint = isAegisError(error) && error.hint !== undefined ? ` (${error.hint})` : "";
    this.flash(`${message}${hint}`, "error");
  }

  confirm(title: string, lines: readonly string[], run: () => void): void {
    this.update({ dialog: { kind: "confirm", title, lines, run } });
  }

  input(title: string, text: string, run: (text: string) => void): void {
    this.update({ dialog: { kind: "input", title, text, run } });
  }

  pick(title: string, items: readonly PickItem[]): void {
    this.update({ dialog: { kind: "pick", title, items, text: "", at: 0 } });
  }

  text(title: string, text: string): void {
    this.update({ dialog: { kind: "text", title, text, at: 0 } });
  }

  flash(text: string, level: FlashLevel = "info"): void {
    this.update({ flash: { level, text } });
  }

  help(): void {
    this.text("Keys of this screen", helpText(this, this.#options.keymap));
  }

  palette(): void {
    openPalette(this, this.#options.keymap, slashCommands(this));
  }

  scroll(by: ScrollBy): void {
    this.#reader.scroll(by, this.#options.terminal.columns);
  }

  editorText(): string {
    return this.#composer.text;
  }

  setEditor(text: string): void {
    this.#composer.set(text);
  }

  newLine(): void {
    this.#composer.insert("\n");
  }

  pasteImage(): void {
    const attached = this.#options.clipboardImage().then((data) => this.#composer.attach(data));
    this.attempt(attached.then(() => this.#options.tui.requestRender()));
  }

  /** The app gives the terminal to the editor until it ends. */
  editOutside(): void {
    const edited = this.#options.editText(this.#composer.expanded).then((text) => this.#composer.set(text));
    this.attempt(edited.then(() => this.#options.tui.requestRender()));
  }

  promptHistory(): readonly string[] {
    const known = Object.values(this.store.model.conversations).flatMap(({ transcript }) =>
      [...transcript.messages()].filter(({ sender }) => sender.kind === "human"),
    );
    const older = known.sort((a, b) => a.admitted_at - b.admitted_at).map(({ sent, body }) => sent ?? body);
    return [...new Set([...older, ...this.#composer.sent].toReversed())].slice(0, mostPrompts).toReversed();
  }

  submit(mode: "queue" | "steer"): void {
    this.#send(this.#composer.take(), mode);
  }

  #send(text: string, mode: "queue" | "steer"): void {
    if (text.trim() === "") return;
    this.#composer.remember(text);
    this.#reader.toEnd();
    const restore = (error: unknown) => {
      if (this.#composer.text === "") this.#composer.set(text);
      this.problem(error);
    };
    this.#deliver(text, mode).catch(restore);
  }

  async #deliver(typed: string, mode: "queue" | "steer"): Promise<void> {
    const session = this.ui.session ?? (await this.#newSession());
    const isCommand = /^\s*\/(?!\/)/.test(typed);
    const text = isCommand ? await runSlash(this, typed, session) : typed.replace(/^\s*\/\//, "/");
    if (text === null) return;
    const attachments = await this.#composer.imagesOf(text);
    await this.store.send({ id: newId("msg", this.now), session, text, mode, attachments });
    this.#composer.forget(text);
  }

  async #newSession(): Promise<SessionId> {
    const { session } = await this.client.call("createSession", { body: {} });
    this.openSession(session.id);
    return session.id;
  }

  get afterLeaving(): string {
    return this.#options.stopsDaemon
      ? "Running turns end first, then the daemon stops; sessions and messages are kept."
      : "Sessions keep working.";
  }

  leave(): void {
    this.#options.leave();
  }

  suspend(): void {
    this.#options.suspend();
  }

  redraw(): void {
    this.#options.tui.requestRender(true);
  }

  copy(text: string): void {
    this.#options.terminal.write(`\u001b]52;c;${Buffer.from(text).toString("base64")}\u0007`);
    this.flash(`copied ${text}`);
  }

  startDaemon(): void {
    this.flash("starting the daemon …");
    this.attempt(this.#options.startDaemon(), "the daemon runs");
  }
}
