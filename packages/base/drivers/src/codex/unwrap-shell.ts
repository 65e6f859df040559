/** Reads the command line that Codex reports. */

/** `/bin/bash -lc 'ls'` is how Codex runs `ls`. */
export function unwrapShell(command: string): string {
  const [shell = "", option = "", script, ...rest] = shellWords(command) ?? [];
  const isShell = /\/(?:ba|z|da)?sh$/.test(shell) && /^-l?c$/.test(option);
  return isShell && script !== undefined && rest.length === 0 ? script : command;
}

/** The words of a line in which every word was quoted for a shell; null if a quote is not closed. */
function shellWords(line: string): string[] | null {
  const part = /'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^\s'"\\]+)|(\s+)/y;
  const words: string[] = [];
  let word: string | null = null;
  while (part.lastIndex < line.length) {
    const found = part.exec(line);
    if (found === null) return null;
    const [, single, double, escaped, plain, space] = found;
    if (space === undefined) {
      word = (word ?? "") + (single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped ?? plain ?? "");
      continue;
    }
    if (word !== null) words.push(word);
    word = null;
  }
  return word === null ? words : [...words, word];
}
