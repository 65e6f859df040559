/**
 * The terminal for pi-tui over two streams: keyboard protocols, focus reports, bracketed paste. Writes nothing for a
 * frame that changes nothing. `stop` restores every mode that `start` set.
 */
import { setKittyProtocolActive } from "@earendil-works/pi-tui/dist/keys.js";
import { StdinBuffer } from "@earendil-works/pi-tui/dist/stdin-buffer.js";
import type { Terminal } from "@earendil-works/pi-tui/dist/terminal.js";

export type Input = NodeJS.ReadableStream & { setRawMode?(raw: boolean): unknown; readonly destroyed?: boolean };
export type TerminalOutput = NodeJS.WritableStream & {
  readonly columns?: number;
  readonly rows?: number;
};

export type StreamTerminalOptions = {
  stdin: Input;
  stdout: TerminalOutput;
  /** How long a lone escape character waits for the rest of a sequence. */
  escapeMs?: number;
  onFocus(isFocused: boolean): void;
};

const esc = "\u001b";
const pasteStart = `${esc}[200~`;
const pasteEnd = `${esc}[201~`;
/** Requests the kitty keyboard protocol, asks whether it is on, and asks for the device, which every terminal answers. */
const queryKeys = `${esc}[>7u${esc}[?u${esc}[c`;
const pasteTimeoutMs = 1_000;
const frame = new RegExp(`^${esc}\\[\\?2026h([\\s\\S]*)${esc}\\[\\?2026l$`);
const cursorOnly = new RegExp(`^(?:${esc}\\[\\d+;\\d+H)?${esc}\\[\\?25[hl]$`);
const kittyAnswer = new RegExp(`^${esc}\\[\\?(\\d+)u$`);
const deviceAnswer = new RegExp(`^${esc}\\[\\?[\\d;]*c$`);

export class StreamTerminal implements Terminal {
  kittyProtocolActive = false;
  readonly #stdin: Input;
  readonly #stdout: TerminalOutput;
  readonly #escapeMs: number;
  readonly #onFocus: (isFocused: boolean) => void;
  #buffer: StdinBuffer | null = null;
  #onInput: ((data: string) => void) | null = null;
  #onResize: (() => void) | null = null;
  #otherKeys = false;
  #pasting = false;
  #pasteTimer: ReturnType<typeof setTimeout> | undefined;
  #lastCursor = "";

  constructor({ stdin, stdout, escapeMs = 10, onFocus }: StreamTerminalOptions) {
    this.#stdin = stdin;
    this.#stdout = stdout;
    this.#escapeMs = escapeMs;
    this.#onFocus = onFocus;
  }

  start(onInput: (data: string) => void, onResize: () => void): void {
    const buffer = new StdinBuffer({ escapeTimeout: this.#escapeMs });
    buffer.on("data", (sequence) => this.#take(sequence));
    buffer.on("paste", (text) => {
      clearTimeout(this.#pasteTimer);
      this.#onInput?.(`${pasteStart}${text}${pasteEnd}`);
    });
    this.#buffer = buffer;
    this.#onInput = onInput;
    this.#onResize = onResize;
    this.#stdin.setRawMode?.(true);
    this.#stdin.setEncoding("utf8");
    this.#stdin.on("data", this.#onData);
    this.#stdin.resume();
    this.#stdout.on("resize", onResize);
    this.#stdout.write(`${esc}[?2004h${esc}[?1004h${queryKeys}`);
  }

  readonly #onData = (data: string | Buffer): void => {
    const text = String(data);
    clearTimeout(this.#pasteTimer);
    this.#buffer?.process(text);
    const opened = text.lastIndexOf(pasteStart);
    if (text.includes(pasteEnd)) this.#pasting = opened > text.lastIndexOf(pasteEnd);
    else if (opened !== -1) this.#pasting = true;
    // A paste whose end got lost must not swallow every later key.
    if (this.#pasting) this.#pasteTimer = setTimeout(() => this.#endPaste(), pasteTimeoutMs);
  };

  #endPaste(): void {
    this.#pasting = false;
    this.#buffer?.process(pasteEnd);
  }

  #take(sequence: string): void {
    const flags = kittyAnswer.exec(sequence)?.[1];
    if (flags !== undefined && flags !== "0") {
      this.kittyProtocolActive = true;
      setKittyProtocolActive(true);
    } else if (flags !== undefined || deviceAnswer.test(sequence)) this.#useOtherKeys();
    else if (sequence === `${esc}[I` || sequence === `${esc}[O`) this.#onFocus(sequence.endsWith("I"));
    else this.#onInput?.(sequence);
  }

  /** The older way to report modified keys, for terminals without the kitty protocol. */
  #useOtherKeys(): void {
    if (this.kittyProtocolActive || this.#otherKeys) return;
    this.#otherKeys = true;
    this.#stdout.write(`${esc}[>4;2m`);
  }

  stop(): void {
    if (this.#buffer === null) return;
    clearTimeout(this.#pasteTimer);
    const otherKeys = this.#otherKeys ? `${esc}[>4;0m` : "";
    this.#stdout.write(`${esc}[?1004l${esc}[?2004l${esc}[<u${esc}[=0u${otherKeys}`);
    this.#otherKeys = false;
    this.kittyProtocolActive = false;
    setKittyProtocolActive(false);
    this.#lastCursor = "";
    this.#buffer.destroy();
    this.#buffer = null;
    this.#stdin.off("data", this.#onData);
    if (this.#onResize !== null) this.#stdout.off("resize", this.#onResize);
    this.#onInput = null;
    this.#stdin.pause();
    // A closed terminal has no modes.
    if (this.#stdin.destroyed !== true) this.#stdin.setRawMode?.(false);
  }

  /** Lets key releases arrive, which would otherwise be typed into the shell. */
  async drainInput(_maxMs?: number, idleMs = 20): Promise<void> {
    this.#onInput = null;
    await new Promise((resolve) => setTimeout(resolve, idleMs));
  }

  write(data: string): void {
    const content = frame.exec(data)?.[1];
    if (content !== undefined && cursorOnly.test(content)) {
      if (content === this.#lastCursor) return;
      this.#lastCursor = content;
    } else if (content !== undefined) {
      this.#lastCursor = new RegExp(`(?:${esc}\\[\\d+;\\d+H)?${esc}\\[\\?25[hl]$`).exec(content)?.[0] ?? "";
    }
    this.#stdout.write(data);
  }

  get columns(): number {
    return this.#stdout.columns || 80;
  }

  get rows(): number {
    return this.#stdout.rows || 24;
  }

  moveBy(lines: number): void {
    if (lines !== 0) this.#stdout.write(lines > 0 ? `${esc}[${lines}B` : `${esc}[${-lines}A`);
  }

  hideCursor(): void {
    this.#stdout.write(`${esc}[?25l`);
  }

  showCursor(): void {
    this.#stdout.write(`${esc}[?25h`);
  }

  clearLine(): void {
    this.#stdout.write(`${esc}[K`);
  }

  clearFromCursor(): void {
    this.#stdout.write(`${esc}[J`);
  }

  clearScreen(): void {
    this.#stdout.write(`${esc}[2J${esc}[H`);
  }

  setTitle(): void {}

  setProgress(): void {}
}
