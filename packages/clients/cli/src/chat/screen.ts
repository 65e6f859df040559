/** Where a chat appears: a terminal with an input line, or plain output. */
import { cursorTo, type Interface, moveCursor } from "node:readline";
import type { Terminal } from "../terminal/terminal.ts";
import type { Work } from "./work.ts";

export interface Screen {
  /** Part of an answer, written unchanged. */
  text(text: string): void;
  /** A whole line that is not part of an answer. */
  line(line: string): void;
  /** Sets the prompt before the input line. */
  setPrompt(prompt: string): void;
  /** What the session is doing; null if it waits for a message or a person. */
  setWork(work: Work | null): void;
  /** A message from this chat waits for the current turn to end; `note` says so. */
  queued(note: string): void;
  /** The current answer is complete, or there is none. */
  settled(): void;
  /** Rings the terminal bell. */
  bell(): void;
}

/** Writes answers to stdout and everything else to stderr. */
export function plainScreen(cx: Terminal): Screen {
  return { text: cx.write, line: cx.warn, queued: cx.warn, setPrompt() {}, setWork() {}, settled() {}, bell() {} };
}

/** For terminals that cannot move the cursor. Uses Node's line editing and keeps the typed text below the output. */
export class ReadlineScreen implements Screen {
  readonly #cx: Terminal;
  readonly #input: Interface;
  #shown = false;
  #busy = false;
  #midLine = false;
  /** Rows above the cursor that the input line used when it was hidden. */
  #rows = 0;
  /** Streamed text held until its line is complete, because the user is typing. */
  #held = "";

  constructor(cx: Terminal, input: Interface) {
    this.#cx = cx;
    this.#input = input;
  }

  text(text: string): void {
    if (this.#input.line === "" && this.#busy) {
      this.hide();
      this.#put(this.#takeHeld() + text);
      return;
    }
    this.#held += text;
    const end = this.#held.lastIndexOf("\n") + 1;
    if (end === 0) return;
    const whole = this.#held.slice(0, end);
    this.#held = this.#held.slice(end);
    this.#above(whole);
  }

  line(line: string): void {
    const held = this.#takeHeld();
    this.#above(`${held}${held === "" || held.endsWith("\n") ? "" : "\n"}${line}\n`);
  }

  setPrompt(prompt: string): void {
    this.#input.setPrompt(prompt);
    if (this.#shown) this.#input.prompt(true);
  }

  /** While an answer streams, the input line is hidden until the user presses a key. */
  setWork(work: Work | null): void {
    this.#busy = work !== null;
    if (!this.#busy) this.show();
  }

  queued(note: string): void {
    this.line(note);
  }

  settled(): void {}

  bell(): void {
    this.#cx.write("\u0007");
  }

  /** Shows the input line on its own line. */
  show(): void {
    if (this.#shown) return;
    if (this.#midLine) this.#put("\n");
    this.#shown = true;
    // Readline first moves up by as many rows as its line used when it was last drawn.
    this.#cx.write("\n".repeat(this.#rows));
    this.#rows = 0;
    this.#input.prompt(true);
  }

  /** Hides the input line and the text typed on it. */
  hide(): void {
    if (!this.#shown) return;
    const { stdout } = this.#cx;
    const { rows } = this.#input.getCursorPos();
    this.#rows = rows;
    if (rows > 0) moveCursor(stdout, 0, -rows);
    cursorTo(stdout, 0);
    this.#cx.write("\u001b[J");
    this.#shown = false;
    this.#midLine = false;
  }

  /** The user pressed a key while an answer streams. */
  keyPressed(): void {
    if (!this.#shown && this.#input.line !== "") this.show();
  }

  /** The user submitted the line; the terminal has moved to the next one. */
  lineTaken(): void {
    this.#shown = false;
    this.#rows = 0;
  }

  #above(text: string): void {
    const wasShown = this.#shown;
    this.hide();
    if (this.#midLine) this.#put("\n");
    this.#put(text);
    if (wasShown || !this.#busy || this.#input.line !== "") this.show();
  }

  #put(text: string): void {
    if (text === "") return;
    this.#cx.write(text);
    this.#midLine = !text.endsWith("\n");
  }

  #takeHeld(): string {
    const held = this.#held;
    this.#held = "";
    return held;
  }
}
