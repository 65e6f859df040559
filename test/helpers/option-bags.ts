/**
 * Finds calls that pass on a whole bag of options: a spread of a name in the object that `new` or a function that builds
 * a part receives. A reader of such a call cannot tell what the part gets. Errors copy values and are no parts.
 */
export type OptionBag = { call: string; line: number };

const call = /\b(new [\w.#]+(?<!Error)(?:<[\w<>[\], ]*>)?|(?<![.\w])(?:build|create|start)[A-Z]\w*)\(/g;
const spreadName = /^\.\.\.[\w.#]+\s*[,}]/;
const opened = "([{";
const closed = ")]}";

export function findOptionBags(text: string): OptionBag[] {
  return [...text.matchAll(call)].flatMap((match) => {
    if (/function\s+$/.test(text.slice(0, match.index))) return [];
    const line = text.slice(0, match.index).split("\n").length;
    return spreadsName(text, match.index + match[0].length) ? [{ call: match[1] ?? "", line }] : [];
  });
}

/** Whether an argument of the call whose arguments begin here is an object that spreads a name. */
function spreadsName(text: string, start: number): boolean {
  let brackets = "(";
  for (let at = start; at < text.length && brackets !== ""; at = afterText(text, at) + 1) {
    const char = text.charAt(at);
    if (opened.includes(char)) brackets += char;
    else if (closed.includes(char)) brackets = brackets.slice(0, -1);
    else if (brackets === "({" && char === "." && spreadName.test(text.slice(at, at + 200))) return true;
  }
  return false;
}

/** Where a string or a comment that begins here ends; the same place for anything else. */
function afterText(text: string, at: number): number {
  const char = text.charAt(at);
  if (text.startsWith("//", at)) return Math.max(at, text.indexOf("\n", at));
  if (char !== '"' && char !== "'" && char !== "`") return at;
  let end = at + 1;
  while (end < text.length && text.charAt(end) !== char) end += text.charAt(end) === "\\" ? 2 : 1;
  return end;
}
