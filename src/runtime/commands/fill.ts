/** A command's text with what was typed behind its name put in place. */
import { splitWords } from "../../lib/split-words.ts";

/** `$ARGUMENTS` is all of it, `$1` to `$9` its words, `\$` a dollar. A text without places has it at its end. */
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
