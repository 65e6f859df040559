/** Prints a command's output: text for people, or JSON for programs. */
import { createStyle, type Style } from "../format/style.ts";

export type Output = {
  /** `--json`: one JSON document (or JSON lines for streams) on stdout, and nothing else. */
  json: boolean;
  /** Colour is used only on terminals and never with NO_COLOR. */
  color: boolean;
  style: Style;
  /** Writes text to stdout unchanged, for streaming. */
  write(text: string): void;
  /** Writes a line to stdout. */
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
  const { json, write } = options;
  const print = (line: string) => write(`${line}\n`);
  const printJson = (value: unknown) => print(JSON.stringify(value));
  const tell = (text: Text) => {
    if (!json) for (const line of typeof text === "string" ? [text] : text) print(line);
  };
  return {
    ...options,
    style: createStyle(options.color),
    print,
    printJson,
    show(value, text) {
      if (json) printJson(value);
      else tell((typeof text === "function" ? text() : text) ?? []);
    },
    tell,
  };
}
