/** Prints a command's output: text for people, or JSON for programs. */
import { createStyle, type Style, styleSequence } from "../format/style.ts";
import { harmless } from "../format/visible.ts";

export type Output = {
  /** `--json`: one JSON document (or JSON lines for streams) on stdout, and nothing else. */
  json: boolean;
  /** Colour is used only on terminals and never with NO_COLOR. */
  color: boolean;
  style: Style;
  /** Writes text to stdout unchanged, for streaming. */
  write(text: string): void;
  /** Writes a line to stdout. Nothing in it but colours controls the terminal; the same applies to `warn`. */
  print(line: string): void;
  printJson(value: unknown): void;
  /**
   * Prints the result of a command: the value with `--json`, the text otherwise. A function is called only for text
   * output.
   */
  show(value: unknown, text: Text | (() => Text) | (() => void)): void;
  /** Prints additional text for people; nothing with `--json`. */
  tell(text: Text): void;
  /** Writes a line to stderr. */
  warn(line: string): void;
};

/** One line, or several. */
type Text = string | readonly string[];

export function createOutput(options: Pick<Output, "json" | "color" | "write" | "warn">): Output {
  const { json, color, write } = options;
  // Names and texts of files, agents and folders are part of most lines.
  const safe = (line: string) =>
    line
      .split(color ? styleSequence : /(?!)/)
      .map((part, at) => (at % 2 === 1 ? part : harmless(part)))
      .join("");
  const print = (line: string) => write(`${safe(line)}\n`);
  const printJson = (value: unknown) => write(`${JSON.stringify(value)}\n`);
  const tell = (text: Text) => {
    if (!json) for (const line of typeof text === "string" ? [text] : text) print(line);
  };
  return {
    ...options,
    style: createStyle(color),
    warn: (line) => options.warn(safe(line)),
    print,
    printJson,
    show(value, text) {
      if (json) printJson(value);
      else tell((typeof text === "function" ? text() : text) ?? []);
    },
    tell,
  };
}
