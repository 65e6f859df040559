/**
 * Finds the paths that a shell command names. This is a heuristic: it handles quotes, backslashes, wildcards and
 * braces, but not variables, encodings, scripts or programs that assemble a path.
 */

/** Returns the path of `paths` that a command names, or whose whole folder it names; null if there is none. */
export function mentionedPath(command: string, paths: readonly string[]): string | null {
  const words = [...wordsOf(command, /[^\w./~*?[\]@%+-]+/), ...wordsOf(command, /[\s;&|()<>`=:]+/)];
  return paths.find((path) => words.some((word) => mentions(word, path))) ?? null;
}

/** Returns the Aegis CLI command that decides about trust, gates, answers or settings; null if there is none. */
export function decidingCommand(command: string): string | null {
  // A shell also makes words of braces and of the variable that holds its separators.
  const spread = command.replace(/\$ifs\b|\$\{ifs\b[^}\s]{0,20}\}/gi, " ").replace(/[{},]/g, " ");
  return decisionIn(command) ?? decisionIn(spread);
}

function decisionIn(command: string): string | null {
  const words = wordsOf(command, /[\s;&|()<>`]+/);
  for (const [at, word] of words.entries()) {
    if (!program.test(word)) continue;
    // The flag answers every confirmation with yes.
    if (words.slice(at + 1).some((one) => one === "--yes" || one === "-y")) return "aegis … --yes";
    const rest = namesAfter(words.slice(at + 1));
    const found = decisions.find((decision) => [0, 1].some((skip) => isAt(rest.slice(skip), decision.split(" "))));
    if (found !== undefined) return `aegis ${found}`;
  }
  return null;
}

/** The CLI by its name, its path, its file, or a version of its package. */
const program = /(?:^|\/)(?:aegis|cli\.js)(?:@[\w.^~*-]{1,40})?(?:\.(?:cmd|exe|ps1))?$/;

/** The words without options, without the folder that the one global option with a value names, and without paths. */
function namesAfter(words: readonly string[]): string[] {
  return words.filter(
    (one, at) => !one.startsWith("-") && !one.includes("/") && !/^(?:-c|--project)$/.test(words[at - 1] ?? ""),
  );
}

const decisions: readonly string[] = [
  ...["trust", "answer", "init", "serve", "down", "kill"],
  ...["accept", "drop", "trust", "install", "update", "uninstall", "enable", "disable", "new", "link"].map(
    (verb) => `plugin ${verb}`,
  ),
  ...["set", "default-agent", "agent add", "agent remove", "plugin-dir add", "plugin-dir remove"].map(
    (verb) => `config ${verb}`,
  ),
  ...["config queue add", "config queue remove", "agent edit", "agent new", "queue add", "queue remove"],
  ...["add", "enable", "disable", "remove"].map((verb) => `schedule ${verb}`),
  ...["install", "update", "remove", "new"].map((verb) => `skill ${verb}`),
  ...["state adopt", "state set-aside", "store salvage", "store forget", "store copy"],
  ...["worktree remove", "rescue prune", "land", "node drain", "node resume", "node forget"],
  // These let another person or program act for the user or answer asks.
  ...["chat", "acp", "mcp", "web", "channel pair", "channel unpair", "channel test"],
];

/** Splits a command into words and removes quotes and backslashes like a shell. */
function wordsOf(command: string, separator: RegExp): string[] {
  const plain = command
    .normalize("NFKC")
    .toLowerCase()
    .replace(/\\\n/g, "")
    .replace(/\$?['"]|\\/g, "");
  return plain.split(separator).filter((word) => word !== "");
}

function isAt(words: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((word, index) => words[index] === word);
}

function mentions(word: string, path: string): boolean {
  const wanted = path.toLowerCase().split("/");
  const parts = word.split("/").filter((part) => part !== "" && part !== ".");
  // A link before `..` leads elsewhere, so the parts as they are written count too.
  return [parts, withoutParents(parts)].some((spelling) =>
    spelling.some((_, at) => {
      const rest = spelling.slice(at, at + wanted.length);
      // A word that ends at a parent folder may replace or fill the whole folder.
      return rest.every((part, index) => matches(part, wanted[index] ?? "", index === 0));
    }),
  );
}

/** `a/b/../c` names `a/c`. */
function withoutParents(parts: readonly string[]): string[] {
  const kept: string[] = [];
  for (const part of parts) {
    if (part === ".." && kept.length > 0 && kept.at(-1) !== "..") kept.pop();
    else kept.push(part);
  }
  return kept;
}

/** Matches one part of a path with shell wildcards and braces. */
function matches(part: string, name: string, isFirst: boolean): boolean {
  if (part === name) return true;
  if (!/[*?[{]/.test(part)) return false;
  // A shell wildcard does not match a leading dot. `*` alone names every file, so a plain name needs a clear beginning.
  const begins = name.startsWith(".") ? /^[.{]/ : /^[^*?[{]{3}/;
  if (isFirst && !begins.test(part)) return false;
  const pattern = part
    .replace(/\{(\w)\.\.(\w)\}/g, "[$1-$2]")
    .replace(/[.*+?^${}()|[\]\\,]/g, (char) => wildcards[char] ?? `\\${char}`)
    .replaceAll("[!", "[^");
  try {
    return new RegExp(`^${pattern}$`).test(name);
  } catch {
    // A shell would not expand this pattern either.
    return false;
  }
}

const wildcards: Readonly<Record<string, string>> = {
  "*": ".*",
  "?": ".",
  "[": "[",
  "]": "]",
  "{": "(?:",
  "}": ")",
  ",": "|",
};
