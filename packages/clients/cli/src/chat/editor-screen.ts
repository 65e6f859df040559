/**
 * The chat on a terminal: answers scroll above a work indicator, the messages that wait to be sent, and the input text.
 */
import type { Style } from "../format/style.ts";
import { displayWidth, plural, truncate } from "../format/text.ts";
import { elapsed } from "../format/time.ts";
import { Area, type RowJoin } from "../line-editor/area.ts";
import { type EditorState, emptyEditor } from "../line-editor/editor.ts";
import { graphemeBefore } from "../line-editor/graphemes.ts";
import { type Geometry, layout, rowText, widthOf } from "../line-editor/layout.ts";
import type { Screen } from "./screen.ts";
import type { Work } from "./work.ts";

export type EditorScreenOptions = {
  write(bytes: string): void;
  size(): { columns: number; rows: number };
  join: RowJoin;
  style: Style;
  /** Whether the terminal can show characters beyond ASCII. */
  unicode: boolean;
  now(): number;
};

/** How long to collect output before drawing, so that a fast answer is not drawn character by character. */
const frameMs = 30;
const clockMs = 1_000;
/** A window size is stable after this long without a change. tmux reports changes every 250 ms at most. */
const restMs = 400;
const indent = "  ";
const spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/** How much of a sent text is repeated in the output. */
const echoed = { lines: 20, characters: 4_000 };
const shownWaiting = 3;
/** Rows shorter than the window wrap less when the window becomes narrow. */
const longestSign = 60;

export class EditorScreen implements Screen {
  readonly #options: EditorScreenOptions;
  readonly #area: Area;
  #prompt = "";
  #work: Work | null = null;
  #input: EditorState = emptyEditor;
  /** Messages that wait for the current answer to end. They are echoed after it. */
  #waiting: string[] = [];
  /** Output that is not written yet. */
  #output = "";
  /** The cells used on the last line of output; 0 at the start of a line. */
  #cells = 0;
  /** Lines that arrived while a line of the answer was incomplete. */
  #later: string[] = [];
  #frame: NodeJS.Timeout | null = null;
  #clock: NodeJS.Timeout | null = null;
  /** Set while the window size may still change. */
  #resizing: NodeJS.Timeout | null = null;
  #isFolded = false;
  #isOpen = false;

  constructor(options: EditorScreenOptions) {
    this.#options = options;
    this.#area = new Area(options.write, options.join);
  }

  text(text: string): void {
    const end = text.lastIndexOf("\n") + 1;
    if (end > 0) {
      this.#cells = 0;
      this.#output += text.slice(0, end) + this.#takeLater();
    }
    this.#output += text.slice(end);
    this.#cells += widthOf(text, end, text.length);
    this.#soon();
  }

  /** Never splits a line of an answer. */
  line(line: string): void {
    if (this.#cells > 0) this.#later.push(line);
    else this.#output += `${line}\n`;
    this.#soon();
  }

  setPrompt(prompt: string): void {
    this.#prompt = prompt;
    this.#soon();
  }

  setWork(work: Work | null): void {
    this.#work = work;
    this.#runClock();
    this.#soon();
  }

  bell(): void {
    this.#options.write("\u0007");
  }

  /** The screen already shows waiting messages in its own area. */
  queued(): void {}

  settled(): void {
    for (const text of this.#waiting.splice(0)) this.echo(text);
  }

  /** Shows a text that was just sent. */
  echo(text: string): void {
    this.line(echoLines(text, this.#prompt, this.#options.style).join("\n"));
  }

  /** Shows a text sent during an answer. It must not appear inside the answer. */
  hold(text: string): void {
    this.#waiting.push(text);
    this.#soon();
  }

  setInput(input: EditorState): void {
    this.#input = input;
    this.draw();
  }

  /** The space available for the input text. */
  geometry(): Geometry {
    const width = this.#width();
    return { first: Math.max(2, width - displayWidth(this.#shownPrompt(width))), rest: width - indent.length };
  }

  open(): void {
    this.#isOpen = true;
    this.#runClock();
    this.redraw();
  }

  /** Removes the drawn area, for example before the process is suspended; `open` draws it again. */
  close(): void {
    this.#isOpen = false;
    this.#isFolded = false;
    for (const timer of [this.#frame, this.#resizing]) if (timer !== null) clearTimeout(timer);
    this.#frame = null;
    this.#resizing = null;
    this.#runClock();
    const output = this.#output + (this.#cells > 0 ? "\n" : "") + this.#takeLater();
    this.#output = "";
    this.#cells = 0;
    this.#area.erase(output);
  }

  /** No more output will come. */
  finish(): void {
    this.settled();
    this.close();
  }

  /**
   * Handles a new window size. While the size keeps changing (for example when dragged with a mouse), the area is one
   * short row: each row that the terminal wraps before the next redraw pushes a row of output off the screen.
   */
  resized(): void {
    if (!this.#isOpen) return;
    if (this.#resizing !== null) {
      clearTimeout(this.#resizing);
      this.#isFolded = true;
    }
    this.#resizing = setTimeout(() => {
      this.#resizing = null;
      this.#isFolded = false;
      this.draw();
    }, restMs);
    this.redraw();
  }

  /** Redraws everything, because another program may have written to the screen. */
  redraw(): void {
    this.#area.forget();
    this.draw();
  }

  draw(): void {
    if (!this.#isOpen) return;
    if (this.#frame !== null) clearTimeout(this.#frame);
    this.#frame = null;
    const output = this.#takeOutput();
    this.#area.draw(output, this.#rows());
  }

  #soon(): void {
    if (this.#isOpen) this.#frame ??= setTimeout(() => this.draw(), frameMs);
  }

  #runClock(): void {
    const runs = this.#isOpen && this.#work !== null;
    if (runs) this.#clock ??= setInterval(() => this.draw(), clockMs);
    else if (this.#clock !== null) {
      clearInterval(this.#clock);
      this.#clock = null;
    }
  }

  /** A row that is exactly full leaves the cursor on its last character. That character is kept for the next frame. */
  #takeOutput(): string {
    const output = this.#output;
    const isFull = this.#cells > 0 && this.#cells % this.#options.size().columns === 0;
    const end = isFull ? graphemeBefore(output, output.length) : output.length;
    this.#output = output.slice(end);
    return output.slice(0, end);
  }

  #takeLater(): string {
    return this.#later
      .splice(0)
      .map((line) => `${line}\n`)
      .join("");
  }

  /** Keeps the last column free: a cursor after it would be on the next row. */
  #width(): number {
    return Math.max(4, this.#options.size().columns - 1);
  }

  #rows(): string[] {
    if (this.#isFolded) return ["…"];
    const width = this.#width();
    const { rows } = this.#options.size();
    const input = this.#inputRows(width, Math.max(1, Math.floor(rows / 3)));
    const sign = [...this.#workRow(), ...this.#waitingRows()].map((line) =>
      this.#options.style.dim(truncate(line, Math.min(width, longestSign))),
    );
    return [...sign.slice(0, Math.max(0, rows - 1 - input.length)), ...input];
  }

  #inputRows(width: number, most: number): string[] {
    const { text, cursor } = this.#input;
    const prompt = this.#shownPrompt(width);
    const geometry = this.geometry();
    let { rows, above, below } = layout(text, cursor, geometry, most);
    // Reserve two rows for the notes that there is more text above or below.
    const tells = (above || below) && most > 3;
    if (tells) ({ rows, above, below } = layout(text, cursor, geometry, most - 2));
    const shown = rows.map(
      (row) => (row.from === 0 ? prompt : indent) + rowText(text, row, (part) => `\u001b[7m${part}\u001b[27m`),
    );
    if (!tells) return shown;
    const more = (part: string) => {
      const words = truncate(`… ${plural(linesIn(part), "more line")}`, width - indent.length);
      return this.#options.style.dim(`${indent}${words}`);
    };
    return [
      ...(above ? [more(text.slice(0, rows[0]?.from ?? 0))] : []),
      ...shown,
      ...(below ? [more(text.slice(rows.at(-1)?.to ?? 0))] : []),
    ];
  }

  #shownPrompt(width: number): string {
    return displayWidth(this.#prompt) <= width / 2 ? this.#prompt : "› ";
  }

  #workRow(): string[] {
    if (this.#work === null) return [];
    const time = Math.max(0, this.#options.now() - this.#work.since);
    const sign = this.#options.unicode ? `${spinner[Math.floor(time / clockMs) % spinner.length]} ` : "";
    const doing = this.#work.doing === null ? "" : ` · ${this.#work.doing}`;
    return [`${sign}working ${elapsed(time)}${doing}`];
  }

  #waitingRows(): string[] {
    const shown = this.#waiting.slice(0, shownWaiting).map((text) => `queued › ${text.slice(0, 4 * longestSign)}`);
    const hidden = this.#waiting.length - shown.length;
    return hidden === 0 ? shown : [...shown, `… ${hidden} more queued`];
  }
}

function echoLines(text: string, prompt: string, style: Style): string[] {
  const kept = text.slice(0, echoed.characters).toWellFormed().split("\n").slice(0, echoed.lines);
  const lines = kept.map((line, index) => `${index === 0 ? prompt : indent}${line}`);
  const missing = text.length - kept.join("\n").length;
  return missing === 0 ? lines : [...lines, style.dim(`${indent}… ${plural(missing, "more character")}`)];
}

/** The number of lines in a hidden part of the text. */
function linesIn(part: string): number {
  let count = 0;
  for (let at = part.indexOf("\n"); at !== -1; at = part.indexOf("\n", at + 1)) count += 1;
  return Math.max(1, count);
}
