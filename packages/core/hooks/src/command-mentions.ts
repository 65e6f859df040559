/**
 * Finds the paths that a shell command names. This is a heuristic: it handles quotes, backslashes, wildcards and
 * braces, but not variables, encodings, scripts or programs that assemble a path.
 */

/** Returns the path of `paths` that a command names, or whose whole folder it names; null if there is none. */
export function mentionedPath(command: string, paths: readonly string[]): string | null {
  const words = [...wordsOf(command, /[^\w./~*?[\]@%+-]+/), ...wordsOf(command, /[\s;&|()<>`=:]+/)];
  return paths.find((path) => words.some((word) => mentions(word, path))) ?? null;
}

/** Splits a command into words and removes quotes and backslashes like a shell. */
function wordsOf(command: string, separator: RegExp): string[] {
  const plain = command
    .normalize("NFKC")
    .toLowerCase()
    .replace(/\\\n/g, "")
    .replace(/\$?['"]|\\/g, "");
  return plain.split(separator).filter((word) => word !== "");
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
