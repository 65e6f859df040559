/**
 * The words of a command that can name files, and whether they are all. A shell line is only read as far as its text
 * says what it runs: a variable, a pattern or a task runner makes it uncertain.
 */
import { basename } from "node:path";

export type CommandWords = {
  words: string[];
  /** Words that a program runs as code, of any kind of file. */
  scripts: string[];
  /** Why other files may run than those that `words` name, or null. */
  unsure: string | null;
};

const shells = /^(?:ba|da|z|k|mk|a|fi|c|tc)?sh$|^(?:busybox|cmd|powershell|pwsh)$/;
const interpreters =
  /^(?:node|nodejs|bun|deno|tsx|ts-node|python[\d.]*|pypy[\d.]*|ruby|perl|php|lua\w*|Rscript|osascript)$/;
/** Options with which an interpreter runs code from the command line. */
const inline = /^(?:-[a-zA-Z]*[eEc]|-p|-pe|-r(?=$)|--eval|--print)(?:=|$)/;
/** Options whose value follows as a word of its own. */
const withValue =
  /^(?:-r|--require|--import|--loader|--experimental-loader|-W|-X|-I|-C|--conditions|--env-file|--title)$/;
/** Programs and words of the shell that start the command that follows somewhere in their words. */
const starters =
  /^(?:env|nohup|nice|ionice|chrt|taskset|timeout|stdbuf|setsid|time|sudo|doas|su|command|builtin|exec|coproc|chronic|caffeinate|unbuffer|script|flock|dumb-init|tini|xvfb-run|strace|ltrace|unshare|nsenter|chroot|bwrap|if|then|elif|else|while|until|do|for|case|!|\{)$/;
/** Their commands stand in other files, or come from elsewhere. */
const runners =
  /^(?:g?make|ninja|just|task|rake|cargo|go|gradlew?|mvnw?|ant|cmake|tox|nox|invoke|composer|mix|dotnet|sbt|lein|turbo|nx|lerna|gulp|grunt|wireit|eval|xargs|parallel|watch|entr|find|fd|trap|alias|popd|dirs|direnv|mise|asdf|nix|nix-shell|devbox)$/;
const packageRunners = /^(?:npm|pnpm|yarn)$/;
const environmentRunners = /^(?:uv|poetry|pdm|hatch|pipenv|rye|bundle)$/;
const mostWords = 300;

export function commandWords(argv: readonly string[]): CommandWords {
  const found: CommandWords = { words: [], scripts: [], unsure: null };
  found.unsure = readCommand(argv, found) ?? (found.words.length > mostWords ? "it has too many words" : null);
  return { ...found, words: [...new Set(found.words)].slice(0, mostWords) };
}

type Found = Pick<CommandWords, "words" | "scripts">;
/** Why the words may not be all, or null. */
type Doubt = string | null;

function readCommand(argv: readonly string[], found: Found): Doubt {
  const [first = ""] = argv;
  found.scripts.push(first);
  found.words.push(...argv.flatMap(partsOf));
  const starts = starters.test(basename(first)) || first.includes("=");
  const programs = starts ? argv : argv.slice(0, 1);
  return firstDoubt(programs.map((program, index) => readProgram(program, argv.slice(index + 1), found)));
}

function firstDoubt(doubts: readonly Doubt[]): Doubt {
  return doubts.find((one) => one !== null) ?? null;
}

/** Options with which a program that is none of a shell runs a text. */
const textOptions: Readonly<Record<string, RegExp>> = {
  env: /^(?:-\w*S|--split-string)/,
  su: /^(?:-\w*c$|--command)/,
  script: /^(?:-\w*c$|--command)/,
  flock: /^(?:-\w*c$|--command)/,
  npx: /^(?:-c|--call)(?:=|$)/,
};

function readProgram(program: string, rest: readonly string[], found: Found): Doubt {
  const name = basename(program).replace(/\.(?:exe|cmd|bat)$/i, "");
  const text = Object.hasOwn(textOptions, name) ? textOptions[name] : undefined;
  if (text !== undefined && rest.some((word) => text.test(word))) return `${name} runs a text`;
  if (shells.test(name)) return readShell(name, rest, found);
  if (interpreters.test(name)) return readInterpreter(name, rest, found);
  if (runners.test(name)) return `${name} decides what it runs`;
  if (packageRunners.test(name))
    return rest.some((word) => /^(?:exec|x|dlx|create)$/.test(word)) ? null : `${name} runs a script of package.json`;
  if (environmentRunners.test(name)) return readEnvironmentRunner(name, rest, found);
  // Without a folder it leads home, and `-` leads to what a variable names.
  const leadsElsewhere = rest.length === 0 || rest.some((word) => /^[-+]/.test(word));
  return /^(?:cd|pushd|chdir)$/.test(name) && leadsElsewhere ? `${name} names no folder` : null;
}

function readShell(name: string, rest: readonly string[], found: Found): Doubt {
  if (/^(?:cmd|powershell|pwsh|busybox)$/.test(name)) return `${name} runs a text`;
  const at = rest.findIndex((word) => /^-[a-zA-Z]*c[a-zA-Z]*$/.test(word));
  const operand = rest.findIndex((word) => !/^[-+]/.test(word));
  if (at !== -1 && (operand === -1 || at < operand)) {
    // Options may stand between `-c` and its text.
    const line = rest.slice(at + 1).find((word) => !/^[-+]/.test(word));
    return line === undefined ? `${name} gets no text` : readLine(line, found);
  }
  const script = rest[operand];
  if (script === undefined || rest.some((word) => /^-[a-zA-Z]*s[a-zA-Z]*$/.test(word)))
    return `${name} reads its commands from elsewhere`;
  found.scripts.push(script);
  return null;
}

function readEnvironmentRunner(name: string, rest: readonly string[], found: Found): Doubt {
  if (!rest.some((word) => word === "run" || word === "exec")) return null;
  const program = rest.findIndex((word) => interpreters.test(basename(word)));
  if (program !== -1) return readInterpreter(basename(rest[program] ?? ""), rest.slice(program + 1), found);
  return rest.some((word) => word.endsWith(".py")) ? null : `${name} runs a program of the project's own environment`;
}

function readInterpreter(name: string, rest: readonly string[], found: Found): Doubt {
  for (let index = 0; index < rest.length; index++) {
    const word = rest[index] ?? "";
    const next = rest[index + 1];
    if (/^(?:python|pypy)/.test(name) && /^-[a-zA-Z]*m$/.test(word) && next !== undefined) {
      const path = next.replaceAll(".", "/");
      found.words.push(`${path}.py`, `${path}/__main__.py`, `${path}/__init__.py`);
      return null;
    }
    if (name === "deno" && (word === "eval" || word === "task")) return `deno ${word} runs a text`;
    if ((name === "bun" || name === "deno") && word === "run") continue;
    const isInline = inline.test(word) && !(word === "-c" && /^(?:node|ruby|perl)/.test(name));
    if (takesValue(name, word)) index += 1;
    else if (isInline) return `${name} runs code of the command line`;
    else if (!word.startsWith("-")) return readScript(name, word, found);
  }
  const isQuestion = rest.some((word) => /^(?:-v|-V|--version|-h|--help)$/.test(word));
  return isQuestion ? null : `${name} reads its code from elsewhere`;
}

function takesValue(name: string, word: string): boolean {
  return withValue.test(word) && !(word === "-r" && name === "php") && !(word === "-C" && name === "perl");
}

function readScript(name: string, script: string, found: Found): Doubt {
  found.scripts.push(script);
  // An interpreter finds these too, without their endings.
  for (const end of [".js", ".cjs", ".mjs", ".ts", ".json", "/index.js", "/package.json", "/__main__.py"])
    found.words.push(`${script}${end}`);
  return name === "bun" && !/[./]/.test(script) ? "bun runs a script of package.json" : null;
}

function readLine(line: string, found: Found): Doubt {
  const { commands, unsure } = splitLine(line);
  return firstDoubt([unsure, ...commands.map((command) => readCommand(command, found))]);
}

/** `--import=./x`, `A=./x`, `-Csub` and lists name files too. */
function partsOf(word: string): string[] {
  const glued = /^-[a-zA-Z](.+)$/s.exec(word)?.[1];
  return [word, ...(glued === undefined ? [] : [glued]), ...word.split(/[=:,]/)].filter((part) => part !== "");
}

type Split = { commands: string[][]; unsure: string | null };

/** The commands of a shell line. What stands for something else is not expanded, but noted. */
export function splitLine(line: string): Split {
  const commands: string[][] = [[]];
  let unsure: string | null = null;
  let word: string | null = null;
  const end = () => {
    if (word !== null) commands.at(-1)?.push(word);
    if (word !== null && /\{.*(?:,|\.\.).*\}/s.test(word)) unsure ??= "a pattern stands for files";
    word = null;
  };
  for (let at = 0; at < line.length; at++) {
    const sign = line[at] ?? "";
    if (sign === "'" || sign === '"') {
      const close = line.indexOf(sign, at + 1);
      if (close === -1) return { commands, unsure: "a quotation does not end" };
      const inner = line.slice(at + 1, close);
      if (sign === '"' && /[$`\\]/.test(inner)) unsure ??= "it contains a variable or a substitution";
      word = (word ?? "") + inner;
      at = close;
    } else if (sign === "#" && word === null) {
      const next = line.indexOf("\n", at);
      at = next === -1 ? line.length : next - 1;
    } else if (/\s/.test(sign) || /[;&|()<>]/.test(sign)) {
      end();
      if (!/[ \t\r]/.test(sign)) commands.push([]);
    } else {
      if (/[$`\\]/.test(sign)) unsure ??= "it contains a variable or a substitution";
      if (/[*?[]/.test(sign) || (sign === "~" && (word === null || /[=:]$/.test(word))))
        unsure ??= "a pattern stands for files";
      word = (word ?? "") + sign;
    }
  }
  end();
  return { commands: commands.filter((command) => command.length > 0), unsure };
}
