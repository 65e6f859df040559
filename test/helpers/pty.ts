/** Runs a program on a pseudo-terminal, and shows what a person would see there. */
import { type IPty, spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { onTestFinished } from "vitest";
import { waitUntil } from "./wait-until.ts";

export type Pty = {
  pid: number;
  /** Everything the program wrote. */
  readonly bytes: string;
  type(text: string): void;
  resize(columns: number, rows: number): void;
  /** The lines of the scrollback and the screen, each as it was before the terminal wrapped it. */
  lines(): Promise<string[]>;
  /** The same as one text. */
  text(): Promise<string>;
  /** The rows that are visible now. */
  screen(): Promise<string>;
  /** Which buffer is visible, and the modes that a program can leave behind. */
  modes(): Promise<{ buffer: string; paste: boolean; focus: boolean; wrap: boolean; mouse: string; cursor: boolean }>;
  /** Resolves when the terminal shows the text, or the pattern. */
  shows(what: string | RegExp): Promise<void>;
  ended: Promise<number>;
};

export type PtyOptions = {
  cwd: string;
  env: Record<string, string>;
  columns?: number;
  rows?: number;
  /** Reply to queries of the program, as a terminal does. */
  answers?: boolean;
};

export function openPty(file: string, args: string[], options: PtyOptions): Pty {
  const { cwd, env, columns = 80, rows = 24 } = options;
  const terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 5_000, allowProposedApi: true });
  const child: IPty = spawn(file, args, {
    cwd,
    cols: columns,
    rows,
    name: env.TERM ?? "xterm-256color",
    env: { TERM: "xterm-256color", ...env },
  });
  let bytes = "";
  let over = false;
  child.onData((data) => {
    bytes += data;
    terminal.write(data);
  });
  if (options.answers === true) terminal.onData((data) => !over && child.write(data));
  const ended = new Promise<number>((resolve) => {
    child.onExit(({ exitCode }) => {
      over = true;
      resolve(exitCode);
    });
  });
  onTestFinished(async () => {
    if (!over) child.kill("SIGKILL");
    await ended;
    terminal.dispose();
  });
  const lines = async () => {
    await new Promise<void>((resolve) => terminal.write("", resolve));
    const { active } = terminal.buffer;
    const found: string[] = [];
    for (let index = 0; index < active.length; index++) {
      const line = active.getLine(index);
      const text = line?.translateToString(false) ?? "";
      if (line?.isWrapped === true) found.push((found.pop() ?? "") + text);
      else found.push(text);
    }
    return found.map((line) => line.trimEnd());
  };
  const text = async () => (await lines()).join("\n").trimEnd();
  const screen = async () => {
    await new Promise<void>((resolve) => terminal.write("", resolve));
    const { active } = terminal.buffer;
    const rowsShown = Array.from(
      { length: terminal.rows },
      (_, index) =>
        active
          .getLine(active.viewportY + index)
          ?.translateToString(true)
          .trimEnd() ?? "",
    );
    return rowsShown.join("\n");
  };
  return {
    pid: child.pid,
    get bytes() {
      return bytes;
    },
    type: (input) => child.write(input),
    resize(newColumns, newRows) {
      terminal.resize(newColumns, newRows);
      child.resize(newColumns, newRows);
    },
    lines,
    text,
    screen,
    async modes() {
      await new Promise<void>((resolve) => terminal.write("", resolve));
      const { bracketedPasteMode, sendFocusMode, wraparoundMode, mouseTrackingMode } = terminal.modes;
      return {
        buffer: terminal.buffer.active.type,
        paste: bracketedPasteMode,
        focus: sendFocusMode,
        wrap: wraparoundMode,
        mouse: mouseTrackingMode,
        cursor: bytes.lastIndexOf("\u001b[?25h") >= bytes.lastIndexOf("\u001b[?25l"),
      };
    },
    async shows(what) {
      const isThere = async () => {
        const shown = await text();
        return typeof what === "string" ? shown.includes(what) : what.test(shown);
      };
      try {
        await waitUntil("", async () => over || (await isThere()));
      } catch {}
      if (!(await isThere())) throw new Error(`the terminal never showed ${what}, but:\n${await text()}`);
    },
    ended,
  };
}
