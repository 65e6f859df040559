/**
 * Draws rows below a program's output, and erases and redraws them when output arrives.
 * Most terminals rewrap the screen when its width changes, before the program is notified. So this code does not depend
 * on how rows were wrapped. The hidden cursor rests at the end of the output, possibly in the middle of a line.
 * Terminals keep it at its position in the text, and everything after it is the area. Each row of the area is written
 * with automatic wrapping off, so it stays one row at any width.
 */

/**
 * How the rows of an area follow each other. xterm.js, the terminal of VS Code, does not keep the cursor at its
 * position: it moves it down by the number of rows it adds, even below the cursor. But it does not rewrap the line that
 * holds the cursor, so there all rows form one line. In other terminals one line would make a narrow window wrap every
 * row, even short ones.
 */
export type RowJoin = "lines" | "one line";

export function rowJoinFor(terminalProgram: string | undefined): RowJoin {
  return terminalProgram === "vscode" || terminalProgram === "Hyper" ? "one line" : "lines";
}

const clearBelow = "\u001b[J";
const wrapOn = "\u001b[?7h";
const wrapOff = "\u001b[?7l";
/** Terminals that support it show the frame atomically; others ignore it. */
const frameStart = "\u001b[?2026h";
const frameEnd = "\u001b[?2026l";
const saveCursor = "\u001b7";
const restoreCursor = "\u001b8";
/** Moves one row down in the same column; at the bottom the screen scrolls. */
const rowDown = "\u001bD";
const nextRow: Readonly<Record<RowJoin, string>> = {
  lines: "\r\n",
  // Writes a character in the last column, at any width, and one after it, which wraps to the next row.
  "one line": `${wrapOn}\u001b[9999G  \r${wrapOff}`,
};

export class Area {
  readonly #write: (bytes: string) => void;
  readonly #nextRow: string;
  /** The content drawn last; null if no area is on the screen. */
  #drawn: string | null = null;
  /** Whether the output ends in the middle of a line. */
  #midLine = false;

  constructor(write: (bytes: string) => void, join: RowJoin) {
    this.#write = write;
    this.#nextRow = nextRow[join];
  }

  /** Writes output and the rows below it. */
  draw(output: string, rows: readonly string[]): void {
    const drawn = rows.join(this.#nextRow);
    if (output === "" && drawn === this.#drawn) return;
    const cleared = this.#take(output);
    const below = rows.length - (this.#midLine ? 0 : 1);
    const room = below > 0 ? `${rowDown.repeat(below)}\u001b[${below}A` : "";
    const area = `${room}${saveCursor}${wrapOff}${this.#midLine ? this.#nextRow : ""}${drawn}${wrapOn}${restoreCursor}`;
    this.#write(`${frameStart}${cleared}${output}${area}${frameEnd}`);
    this.#drawn = drawn;
  }

  /** Makes the next `draw` write everything, because the screen content is unknown. */
  forget(): void {
    if (this.#drawn !== null) this.#drawn = "";
  }

  /** Erases the area. Output that ends in the middle of a line gets a line break. */
  erase(output: string): void {
    const cleared = this.#take(output);
    this.#write(`${cleared}${output}${this.#midLine ? "\n" : ""}`);
    this.#midLine = false;
    this.#drawn = null;
  }

  #take(output: string): string {
    if (output !== "") this.#midLine = !output.endsWith("\n");
    return this.#drawn === null ? "" : clearBelow;
  }
}
