/**
 * Finds the paths that a shell command names. This is a heuristic: it handles quotes, backslashes, wildcards and
 * braces, but not variables, encodings, scripts or programs that compose a path.
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
  ...["acp", "mcp", "web", "channel pair", "channel unpair", "channel test"],
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
  return parts.some((_, at) => {
    const rest = parts.slice(at, at + wanted.length);
    // A word that ends at a parent folder may replace or fill the whole folder.
    return rest.every((part, index) => matches(part, wanted[index] ?? ""));
  });
}

/** Matches one part of a path with shell wildcards and braces. */
function matches(part: string, name: string): boolean {
  if (part === name) return true;
  // A shell wildcard does not match a leading dot; without this rule, wildcards would match too much.
  if (!/[*?[{]/.test(part) || !name.startsWith(".") || !/^[.{]/.test(part)) return false;
  const pattern = part.replace(/[.*+?^${}()|[\]\\,]/g, (char) => wildcards[char] ?? `\\${char}`);
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
