/** Parses lenient JSON: comments, single quotes, bare keys and trailing commas. */

/** Returns plain data, or undefined if it cannot be parsed. Never throws. */
export function parseLooseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    try {
      return JSON.parse(strict(text));
    } catch {
      return undefined;
    }
  }
}

const token =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|,(?=\s*[\]}])|[A-Za-z_$][\w$-]*(?=\s*:)/g;

/** Converts token by token, so that string content is never treated as syntax. */
function strict(text: string): string {
  return withoutLastCommas(
    text.replace(token, (part) => {
      if (part.startsWith("//") || part.startsWith("/*")) return " ";
      if (part.startsWith("'")) return JSON.stringify(part.slice(1, -1).replace(/\\(['"])/g, "$1"));
      if (part.startsWith('"')) return part;
      return part === "," ? "" : JSON.stringify(part);
    }),
  );
}

/** A comment may have been between a comma and the bracket. */
function withoutLastCommas(text: string): string {
  return text.replace(/"(?:[^"\\\n]|\\.)*"|,(?=\s*[\]}])/g, (part) => (part === "," ? "" : part));
}
