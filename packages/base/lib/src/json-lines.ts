/** Finds the line of each key in a JSON text, so that an error about a value can name its line. */

/**
 * Returns the line of a path such as `["tools", 0, "name"]`, counted from 1. If the path is missing, returns the line
 * of its nearest existing ancestor.
 */
export type LineOf = (path: readonly (string | number)[]) => number | null;

/** Expects text that `JSON.parse` accepts. For other text, the reported lines may be too low. */
export function jsonLines(text: string): LineOf {
  const lines = new Map<string, number>();
  const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|\n|[^\s{}[\],:"]+/g;
  const path: (string | number)[] = [];
  const open: ("map" | "list")[] = [];
  let line = 1;
  let key: string | null = null;
  let expectsKey = false;

  const mark = () => {
    if (path.length > 0) lines.set(JSON.stringify(path), line);
  };
  for (const [part] of text.matchAll(token)) {
    if (part === "\n") line++;
    else if (part === "{" || part === "[") {
      open.push(part === "{" ? "map" : "list");
      expectsKey = part === "{";
      path.push(part === "{" ? "" : 0);
      if (part === "[") mark();
    } else if (part === "}" || part === "]") {
      open.pop();
      path.pop();
      expectsKey = false;
    } else if (part === ",") {
      const last = path.pop();
      path.push(typeof last === "number" ? last + 1 : "");
      expectsKey = open.at(-1) === "map";
    } else if (part === ":") {
      if (key !== null) path[path.length - 1] = key;
      key = null;
      mark();
    } else if (expectsKey) {
      key = textOf(part);
      expectsKey = false;
    } else if (open.at(-1) === "list") mark();
  }
  return nearestLine(lines);
}

/** `lines` has the line of each path, as JSON. */
export function nearestLine(lines: ReadonlyMap<string, number>): LineOf {
  return (path) => {
    for (let length = path.length; length > 0; length--) {
      const found = lines.get(JSON.stringify(path.slice(0, length)));
      if (found !== undefined) return found;
    }
    return null;
  };
}

/** Returns the line from an error that `JSON.parse` threw, as V8 reports it. */
export function jsonErrorLine(error: unknown, text: string): number {
  const named = error instanceof Error ? /\(line (\d+) column \d+\)/.exec(error.message)?.[1] : undefined;
  return named === undefined ? text.split("\n").length : Number(named);
}

function textOf(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted;
  }
}
