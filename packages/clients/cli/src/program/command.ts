/**
 * Declares commands. One declaration defines the parser, the help, the shell completion, the documentation check, and
 * the types of the values that the command receives: an undeclared name does not compile.
 */
import type { CliCommandPath } from "@aegis/contract/cli-commands.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { parseDuration } from "../format/time.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { usageError } from "./failure.ts";

/** What a value names, so that the shell can complete it. */
export type Completion =
  | "session"
  | "agent"
  | "queue"
  | "task"
  | "skill"
  | "schedule"
  | "command"
  | "mcp program"
  | "file"
  | readonly string[];

/** Converts a parsed value (undefined if not given) to the value that the command receives. */
type Read<T> = (parsed: unknown) => T;

export type ArgumentSpec<T = unknown> = {
  /** In synopsis syntax: `<session>`, `[agent]`, `<session...>`. */
  synopsis: string;
  description: string;
  complete?: Completion | undefined;
  read: Read<T>;
};

export type OptionSpec<T = unknown> = {
  /** In commander syntax: `-n, --lines <count>`. */
  flags: string;
  description: string;
  complete?: Completion | undefined;
  /**
   * Parses one value; `before` is the result of earlier values of the same option. Throws a `RangeError` that says what
   * was expected.
   */
  parse?: ((text: string, before: unknown) => unknown) | undefined;
  /** Not in the help, and not completed. */
  hidden?: boolean;
  read: Read<T>;
};

/** The exit code of a command; no value means success. */
export type Exit = OrExitCode<void>;
type OrExitCode<T> = Promise<number | T>;

declare const values: unique symbol;

export type CommandSpec<T = unknown> = {
  /** The words of the command: `config agent add`. */
  path: string;
  summary: string;
  /** Its heading in the help. */
  group?: string | undefined;
  arguments: readonly ArgumentSpec[];
  options: readonly OptionSpec[];
  /** At least one; each is a line that a reader can paste. */
  examples: readonly string[];
  /** Lines of help text below the examples. */
  notes: readonly string[];
  /** Undeclared options, including `--help`, are passed as arguments. */
  open: boolean;
  /** Loads the command's module and runs it. `parsed` has a value for each argument and option, in order. */
  run(cx: Terminal, parsed: ParsedArguments): Exit;
  /** Type only: the values that `run` of the declaration receives. */
  readonly [values]?: T;
};

export type ParsedArguments = { arguments: readonly unknown[]; options: readonly unknown[] };

type Specs<S> = Readonly<Record<string, S>>;
type Values<S> = { readonly [K in keyof S]: S[K] extends { read: Read<infer T> } ? T : never };
type None = Record<never, never>;

type Declaration<A extends Specs<ArgumentSpec>, O extends Specs<OptionSpec>> = {
  /** Listed in the contract, by what the command does for its caller. */
  path: CliCommandPath;
  summary: string;
  group?: string;
  arguments?: A;
  options?: O;
  examples: readonly string[];
  notes?: readonly string[];
  open?: boolean;
  /**
   * Must only import the command's module and call it, so that loading a declaration is cheap. The return type must be
   * written out: the module takes its types from this declaration, so inference would be circular.
   */
  run(cx: Terminal, args: Values<A & O>): Exit;
};

export function command<A extends Specs<ArgumentSpec> = None, O extends Specs<OptionSpec> = None>(
  declaration: Declaration<A, O>,
): CommandSpec<Values<A & O>> {
  const { path, summary, group, examples, notes = [], open = false } = declaration;
  const named = Object.entries<ArgumentSpec>(declaration.arguments ?? {});
  const options = Object.entries<OptionSpec>(declaration.options ?? {});
  const run = (cx: Terminal, parsed: ParsedArguments): Exit => {
    const args = Object.fromEntries([
      ...named.map(([name, spec], index) => [name, spec.read(parsed.arguments[index])]),
      ...options.map(([name, spec], index) => [name, spec.read(parsed.options[index])]),
    ]);
    return declaration.run(cx, args as Values<A & O>);
  };
  const specs = { arguments: named.map(([, spec]) => spec), options: options.map(([, spec]) => spec) };
  return { path, summary, group, examples, notes, open, run, ...specs };
}

/** The values that a declared command receives: `Args<typeof sessionCommands.send>`. */
export type Args<C> = C extends CommandSpec<infer T> ? T : never;

/** The function that runs a declared command: `const send: Handler<typeof sessionCommands.send> = async (cx, { text }) => …`. */
export type Handler<C> = (cx: Terminal, args: Args<C>) => Exit;

type Synopsis = `<${string}>` | `[${string}]`;
type ArgumentValue<S extends Synopsis> = S extends `${string}...${string}`
  ? readonly string[]
  : S extends `<${string}>`
    ? string
    : string | undefined;

/** `<x>` is required, `[x]` is optional, `<x...>` and `[x...]` take all remaining words. */
export function argument<S extends Synopsis>(
  synopsis: S,
  description: string,
  complete?: Completion,
): ArgumentSpec<ArgumentValue<S>> {
  const read = synopsis.includes("...") ? list : synopsis.startsWith("<") ? required : text;
  return { synopsis, description, complete, read: read as Read<ArgumentValue<S>> };
}

type More = { complete?: Completion };

export const option = {
  /** False by default. `--no-x` is true if it is given. */
  flag(flags: string, description: string): OptionSpec<boolean> {
    const given = !flags.startsWith("--no-");
    return { flags, description, read: (parsed) => parsed === given };
  },

  /** An option of an earlier version. Giving it is an error that names what to use instead. */
  removed(flags: string, wayOut: string): OptionSpec<undefined> {
    const read = (parsed: unknown) => {
      if (parsed !== undefined) throw usageError(`there is no ${flags} any more`, wayOut);
      return undefined;
    };
    return { flags, description: wayOut, hidden: true, read };
  },

  text(flags: string, description: string, complete?: Completion): OptionSpec<string | undefined> {
    return { flags, description, complete, read: text };
  },

  /** One of the given words; the shell completes them. */
  choice<const T extends string, const D extends T | undefined = undefined>(
    flags: string,
    description: string,
    choices: readonly T[],
    more: { default?: D } = {},
  ): OptionSpec<T | D> {
    const parse = (typed: string) => {
      if (choices.some((choice) => choice === typed)) return typed;
      throw new RangeError(`expected ${choices.join(", ")}${didYouMean(typed, choices)}`);
    };
    return { flags, description, complete: choices, parse, read: (parsed) => (parsed ?? more.default) as T | D };
  },

  /** A whole number. The help shows the default. */
  count<const D extends number | undefined = undefined>(
    flags: string,
    description: string,
    more: { default?: D } = {},
  ): OptionSpec<D extends number ? number : number | undefined> {
    const shown = more.default === undefined ? description : `${description} (default ${more.default})`;
    const read = (parsed: unknown) => (typeof parsed === "number" ? parsed : more.default);
    return {
      flags,
      description: shown,
      parse: parseCount,
      read: read as Read<D extends number ? number : number | undefined>,
    };
  },

  /** A duration such as 30s or 5m, converted to milliseconds. */
  duration(flags: string, description: string): OptionSpec<number | undefined> {
    return {
      flags,
      description,
      parse: parseTime,
      read: (parsed) => (typeof parsed === "number" ? parsed : undefined),
    };
  },

  /** May be repeated, or with `<x...>` takes all words that follow. */
  list(flags: string, description: string, more: More = {}): OptionSpec<readonly string[]> {
    const parse = flags.includes("...") ? undefined : (one: string, before: unknown) => [...list(before), one];
    return { flags, description, ...more, parse, read: list };
  },
};

function text(parsed: unknown): string | undefined {
  return typeof parsed === "string" ? parsed : undefined;
}

/** The parser guarantees required arguments. */
function required(parsed: unknown): string {
  if (typeof parsed === "string") return parsed;
  throw new TypeError("the parser accepted a command without a required argument");
}

function list(parsed: unknown): readonly string[] {
  return Array.isArray(parsed) ? parsed.map(String) : [];
}

function parseCount(typed: string): number {
  const count = Number(typed);
  if (!/^\d+$/.test(typed) || !Number.isSafeInteger(count)) throw new RangeError("expected a whole number");
  return count;
}

function parseTime(typed: string): number {
  const ms = parseDuration(typed);
  if (ms === null) throw new RangeError("expected a time such as 30s, 5m or 1h");
  return ms;
}
