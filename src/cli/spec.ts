/** How a command is described: one table makes the parser, the help, the completion and the documentation's check. */
import type { Terminal } from "./terminal.ts";

/** What a value names, so that the shell can complete it. */
export type Completion =
  | "session"
  | "agent"
  | "queue"
  | "task"
  | "skill"
  | "schedule"
  | "command"
  | "file"
  | readonly string[];

export type ArgumentSpec = {
  /** As in a synopsis: `<session>`, `[agent]`, `<session...>`. */
  synopsis: string;
  description: string;
  complete?: Completion;
};

export type OptionSpec = {
  /** As commander reads them: `-n, --lines <count>`. */
  flags: string;
  description: string;
  /** What the value must be; text when absent. A `list` option may be given several times. */
  value?: "count" | "duration" | "list";
  complete?: Completion;
};

export type CommandSpec = {
  /** Words of the command: `config agent add`. */
  path: string;
  summary: string;
  /** The heading it stands under in the help. */
  group?: string;
  arguments?: readonly ArgumentSpec[];
  options?: readonly OptionSpec[];
  /** At least one, each a line a reader can paste. */
  examples: readonly string[];
  hidden?: boolean;
  /** Options the table does not know, `--help` too, arrive among its arguments. */
  open?: boolean;
  /** Loads the command's module and runs it. Gives the exit code. */
  run(cx: Terminal, input: Input): Promise<number>;
};

/** Values of arguments and options by name, checked by the parser. */
export class Input {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === "string" ? value : undefined;
  }

  /** For arguments that the parser has already insisted on. */
  required(name: string): string {
    const value = this.text(name);
    if (value === undefined) throw new TypeError(`the command table has no required argument "${name}"`);
    return value;
  }

  list(name: string): string[] {
    const value = this.#values[name];
    return Array.isArray(value) ? value.map(String) : [];
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  number(name: string): number | undefined {
    const value = this.#values[name];
    return typeof value === "number" ? value : undefined;
  }
}
