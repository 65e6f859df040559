/** Finds the place in a plugin where an error was thrown: the first stack line inside the plugin's folder. */
import { relative } from "node:path";
import { pathToFileURL } from "node:url";
import type { SourcePlace, WorkerStart } from "../protocol.ts";

export function placeOf(error: unknown, { root, modules }: Pick<WorkerStart, "root" | "modules">): SourcePlace {
  const stack = error instanceof Error ? `${importer(error)}\n${error.stack ?? ""}\n${error.message}` : "";
  const bases = [pathToFileURL(root).href, root];
  for (const row of stack.split("\n")) {
    const base = bases.find((one) => row.includes(one));
    if (base === undefined) continue;
    const rest = row.slice(row.indexOf(base) + base.length);
    const [, path = "", line] = /^\/?([^:'"\s)]*)(?::(\d+))?/.exec(rest) ?? [];
    if (path !== "") return { file: decodeURIComponent(path), line: line === undefined ? null : Number(line) };
    const [only] = modules;
    if (only !== undefined) return { file: relative(root, only), line: null };
  }
  return { file: null, line: null };
}

/** A missing module is the fault of its importer. */
function importer({ message }: Error): string {
  return /imported from (\S+)/.exec(message)?.[1] ?? "";
}
