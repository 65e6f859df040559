/** Where in a plugin an error arose: the first line of its stack that lies in the plugin's folder. */
import { relative } from "node:path";
import { pathToFileURL } from "node:url";
import type { Place, WorkerStart } from "../protocol.ts";

export function placeOf(error: unknown, { root, modules }: Pick<WorkerStart, "root" | "modules">): Place {
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

/** A module that is missing is the fault of the one that asks for it. */
function importer({ message }: Error): string {
  return /imported from (\S+)/.exec(message)?.[1] ?? "";
}
