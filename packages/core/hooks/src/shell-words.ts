/**
 * Splits a shell text into simple commands, and each into its words. A heuristic: it resolves quotes, backslashes,
 * redirections and text that is a command of its own (`bash -c "…"`, `$(…)`), but no variables, encodings or scripts.
 */

/** The simple commands of a text, in every reading of it that runs in a shell. */
export function commandsIn(text: string, depth = 0): string[][] {
  const plain = text.normalize("NFKC").replace(/\\\n/g, "");
  const found = [...split(plain), ...(spreads.test(plain) ? split(spread(plain)) : [])];
  if (depth === deepest) return found;
  // A word with a space or a parenthesis was quoted: it may be a command for another shell, or code that starts one.
  const inner = found.flatMap((words) => words.filter((word) => /[\s;&|(`]/.test(word)));
  return [...found, ...[...new Set(inner)].flatMap((word) => commandsIn(word, depth + 1))];
}

const deepest = 3;

/** A shell also makes words of braces and of the variable that holds its separators; code makes them of lists. */
const spreads = /[{}[\],]|\$ifs\b/i;

function spread(text: string): string {
  return text.replace(/\$ifs\b|\$\{ifs\b[^}\s]{0,20}\}/gi, " ").replace(/[{}[\],]/g, " ");
}

function split(text: string): string[][] {
  const commands: string[][] = [];
  let words: string[] = [];
  let word: string | null = null;
  /** The next word is the file of a redirection. */
  let isFile = false;
  const endWord = () => {
    if (word !== null && !isFile) words.push(word);
    if (word !== null) isFile = false;
    word = null;
  };
  const endCommand = () => {
    endWord();
    if (words.length > 0) commands.push(words);
    words = [];
    isFile = false;
  };
  for (let at = 0; at < text.length; ) {
    const quoted = nextQuoted(text, at);
    if (quoted !== null) {
      word = (word ?? "") + quoted.value;
      at = quoted.end;
      continue;
    }
    const char = text[at] ?? "";
    at += 1;
    if (char === "<" || char === ">") {
      // `2>` is a redirection as a whole.
      if (word !== null && /^\d+$/.test(word)) word = null;
      endWord();
      isFile = true;
      while (/[<>&|]/.test(text[at] ?? "")) at += 1;
    } else if (char === "&" && text[at] === ">") endWord();
    else if (/[;&|()`\n]/.test(char)) endCommand();
    else if (/\s/.test(char)) endWord();
    else word = (word ?? "") + char;
  }
  endCommand();
  return commands;
}

/** The value of a quoted part or of an escaped character that begins here. */
function nextQuoted(text: string, at: number): { value: string; end: number } | null {
  const quote = text[at] === "$" && /['"]/.test(text[at + 1] ?? "") ? at + 1 : at;
  const mark = text[quote];
  if (mark === "\\") return { value: text[quote + 1] ?? "", end: quote + 2 };
  if (mark !== "'" && mark !== '"') return null;
  let value = "";
  for (let next = quote + 1; next < text.length; next += 1) {
    const char = text[next] ?? "";
    if (char === mark) return { value, end: next + 1 };
    if (char === "\\" && mark === '"') next += 1;
    value += char === "\\" && mark === '"' ? (text[next] ?? "") : char;
  }
  // An apostrophe in code or in a comment: what follows is read as if it were not quoted.
  return { value: "", end: quote + 1 };
}
