/** Where a chat appears: a terminal with a line to type on, or plain output. */
import { cursorTo, type Interface, moveCursor } from "node:readline";
import type { Terminal } from "../terminal.ts";

export interface Screen {
  /** Part of an answer, as it is. */
  text(text: string): void;
  /** A whole line; what belongs to no answer. */
  line(line: string): void;
  /** What stands before the line to type on. */
  setPrompt(prompt: string): void;
  /** Whether the line to type on is shown; while an answer streams it hides until a key is pressed. */
  setBusy(busy: boolean): void;
}

/** Answers to stdout, everything else to stderr. */
export function plainScreen(cx: Terminal): Screen {
  return { text: cx.write, line: cx.warn, setPrompt() {}, setBusy() {} };
}

/** Keeps what is typed intact below what is shown. */
export class TerminalScreen implements Screen {
  readonly #cx: Terminal;
  readonly #input: Interface;
  #shown = false;
  #busy = false;
  #midLine = false;
  /** Rows that the line to type on took above the cursor when it was taken away. */
  #rows = 0;
  /** Streamed text that waits for its line to be whole, because the person is typing. */
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

  setBusy(busy: boolean): void {
    this.#busy = busy;
    if (!busy) this.show();
  }

  /** Shows the line to type on, on a line of its own. */
  show(): void {
    if (this.#shown) return;
    if (this.#midLine) this.#put("\n");
    this.#shown = true;
    // Readline first goes up as many rows as its line took when it was drawn last.
    this.#cx.write("\n".repeat(this.#rows));
    this.#rows = 0;
    this.#input.prompt(true);
  }

  /** Takes the line to type on away, with what is typed on it. */
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

  /** A key was pressed while an answer streams. */
  keyPressed(): void {
    if (!this.#shown && this.#input.line !== "") this.show();
  }

  /** The typed line was taken: the terminal has moved on to the next one. */
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
