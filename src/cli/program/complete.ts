/** Computes completions for a command line from the command table. */
import type { CommandSpec, Completion, OptionSpec } from "./command.ts";

type Option = Pick<OptionSpec, "flags" | "description" | "complete">;

export type Candidate = { value: string; description: string };

/** Known candidates, and what the daemon or the shell must still provide. */
export type Suggestions = { candidates: Candidate[]; ask: Exclude<Completion, readonly string[]> | null };

const globalOptions: readonly Option[] = [
  { flags: "-C, --project <dir>", description: "work in this folder", complete: "file" },
  { flags: "--json", description: "print JSON, for scripts" },
  { flags: "-h, --help", description: "show help" },
];

/** `words` are the words after `aegis`; the last one is being typed and may be empty. */
export function suggest(
  words: readonly string[],
  commands: readonly CommandSpec[],
  groups: Readonly<Record<string, { summary: string }>>,
): Suggestions {
  const current = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const { command, path, positionals, openOption } = read(before, commands);
  if (openOption !== null) return ofKind(openOption.complete, current);
  if (current.startsWith("-")) {
    const options = [...(command?.options ?? []), ...globalOptions];
    return known(options.flatMap(optionNames), current);
  }
  if (command === undefined) {
    const prefix = path.map((word) => `${word} `).join("");
    const next = new Map<string, string>();
    for (const { path: name, summary } of commands) {
      if (!name.startsWith(prefix)) continue;
      const [word = "", ...more] = name.slice(prefix.length).split(" ");
      next.set(word, more.length === 0 ? summary : (groups[prefix + word]?.summary ?? ""));
    }
    return known(
      [...next].map(([value, description]) => ({ value, description })),
      current,
    );
  }
  const specs = command.arguments;
  const last = specs.at(-1);
  const argument = specs[positionals] ?? (last?.synopsis.includes("...") ? last : undefined);
  return ofKind(argument?.complete, current);
}

type Read = {
  command: CommandSpec | undefined;
  path: string[];
  /** The number of arguments typed so far. */
  positionals: number;
  /** The option whose value is being typed. */
  openOption: Option | null;
};

function read(words: readonly string[], commands: readonly CommandSpec[]): Read {
  const result: Read = { command: undefined, path: [], positionals: 0, openOption: null };
  for (const word of words) {
    if (result.openOption !== null) {
      result.openOption = null;
      continue;
    }
    if (word.startsWith("-") && word !== "-") {
      const options = [...(result.command?.options ?? []), ...globalOptions];
      const option = options.find((candidate) => namesOf(candidate).includes(word));
      if (option?.flags.includes("<")) result.openOption = option;
      continue;
    }
    if (result.command !== undefined) {
      result.positionals += 1;
      continue;
    }
    result.path.push(word);
    result.command = commands.find((candidate) => candidate.path === result.path.join(" "));
  }
  return result;
}

function ofKind(kind: Completion | undefined, current: string): Suggestions {
  if (kind === undefined) return { candidates: [], ask: null };
  if (typeof kind === "string") return { candidates: [], ask: kind };
  return known(
    kind.map((value) => ({ value, description: "" })),
    current,
  );
}

function known(candidates: readonly Candidate[], current: string): Suggestions {
  return { candidates: candidates.filter(({ value }) => value.startsWith(current)), ask: null };
}

function optionNames(option: Option): Candidate[] {
  const long = namesOf(option).filter((name) => name.startsWith("--"));
  return long.map((value) => ({ value, description: option.description }));
}

function namesOf(option: Option): string[] {
  return option.flags.split(/[ ,]+/).filter((part) => part.startsWith("-"));
}
