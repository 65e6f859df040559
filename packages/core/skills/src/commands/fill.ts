/** Inserts the arguments of a slash command into its text. */
import { splitWords } from "@aegis/lib/split-words.ts";

/**
 * `$ARGUMENTS` is the whole text, `$1` to `$9` are its words, and `\$` is a dollar sign. A text without placeholders
 * gets the arguments at its end.
 */
export function fillArguments(body: string, given: string): string {
  const words = splitWords(given);
  let used = false;
  const filled = body.replace(/\\\$|\$ARGUMENTS\b|\$([1-9])(?!\d)/g, (place, digit: string | undefined) => {
    if (place === "\\$") return "$";
    used = true;
    return digit === undefined ? given : (words[Number(digit) - 1] ?? "");
  });
  return used || given === "" ? filled : `${filled}\n\nARGUMENTS: ${given}`;
}
