/**
 * Recognises commands that only read files. Codex reads with its shell and asks about every command if it is told to
 * ask. Its own description of a command is incomplete, so only a single command of a few programs with harmless options
 * qualifies.
 */
import { resolve } from "node:path";
import { isInside } from "@aegis/lib/files.ts";

/** As an agent's `tools` names it. */
export type Reading = "read" | "grep" | "ls";

type Program = { is: Reading; options: RegExp };

const search: Program = {
  is: "grep",
  options:
    /^-([aEFHhilLnoPrRsvwx]+|[ABCm]\d*|[egt]|-(hidden|line-number|ignore-case|count|files|files-with-matches|fixed-strings|no-heading|no-ignore|color=never|word-regexp)|-(exclude|glob|include|type)=[\w*.]+)$/,
};
const programs: Readonly<Record<string, Program>> = {
  cat: { is: "read", options: /^-[AbEnsTv]+$/ },
  head: { is: "read", options: /^-([cn]?\d+|[cn])$/ },
  tail: { is: "read", options: /^-([cn]?\d+|[cn])$/ },
  nl: { is: "read", options: /^-ba$/ },
  wc: { is: "read", options: /^-[clmw]+$/ },
  // Only printing lines by number: the other commands of sed write files and run programs.
  sed: { is: "read", options: /^-n$/ },
  ls: { is: "ls", options: /^-[1aAdFhlrRStG]+$/ },
  grep: search,
  rg: search,
};

/** Null for a command that does more, may do more, or reads outside `root`. */
export function plainReading(command: string, cwd: string, root: string): Reading | null {
  const [name = "", ...words] = wordsOf(command) ?? [];
  const program = Object.hasOwn(programs, name) ? programs[name] : undefined;
  if (program === undefined) return null;
  if (name === "sed" && !(words[0] === "-n" && /^\d+(,\d+)?p$/.test(words[1] ?? "") && words.length > 2)) return null;
  const isHarmless = (word: string) =>
    word.startsWith("-") ? program.options.test(word) : isInside(root, resolve(cwd, word));
  return isInside(root, cwd) && words.every(isHarmless) ? program.is : null;
}

/** The words of such a command that can name files. */
export function readWords(command: string): string[] {
  return (wordsOf(command) ?? []).slice(1).filter((word) => !word.startsWith("-"));
}

/** The words of a single command without any shell syntax, else null. */
function wordsOf(command: string): string[] | null {
  const word = /'([^'\n]*)'|"([^"$`\\!\n]*)"|([\w@%+=:,./-]+)/y;
  const words: string[] = [];
  for (let at = 0; at < command.length; ) {
    word.lastIndex = at;
    const found = word.exec(command);
    if (found === null) return null;
    words.push(found[1] ?? found[2] ?? found[3] ?? "");
    at = word.lastIndex;
    if (at < command.length && command[at] !== " ") return null;
    while (command[at] === " ") at += 1;
  }
  return words;
}
