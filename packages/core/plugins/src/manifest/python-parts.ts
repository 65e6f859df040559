/** Finds Python modules in a plugin of which nothing else could run: they would be its code in the Python program. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { PluginManifest, UnsupportedPart } from "@aegis/contract/plugin.ts";

export const pythonReason =
  "Aegis runs TypeScript and JavaScript modules, and programs in any language as executable tools";

const deepest = 4;
const mostEntries = 2_000;
const mostShown = 8;
const module = /\.[cm]?[jt]s$/;

/** Empty if the plugin has programs as tools or modules of its own, because Python files may belong to them. */
export async function pythonParts(dir: string, { tools, folders }: PluginManifest): Promise<UnsupportedPart[]> {
  if (tools.length > 0) return [];
  const content = new Set(Object.values(folders).flat());
  const found: string[] = [];
  let seen = 0;
  const walk = async (below: string, depth: number): Promise<boolean> => {
    for (const entry of await readdir(join(dir, below), { withFileTypes: true }).catch(() => [])) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      seen += 1;
      if (seen > mostEntries) return true;
      if (entry.name.startsWith(".") || entry.name === "node_modules" || content.has(path)) continue;
      if (entry.isDirectory()) {
        const isCommon = !/^(?:tests?|docs|examples)$/.test(entry.name);
        if (depth < deepest && isCommon && !(await walk(path, depth + 1))) return false;
      } else if (module.test(entry.name) && !entry.name.startsWith("_")) return false;
      else if (entry.name.endsWith(".py") && !/^(?:setup|conftest)\.py$|^test_/.test(entry.name)) found.push(path);
    }
    return true;
  };
  const hasOnlyPython = await walk("", 0);
  return hasOnlyPython
    ? found
        .sort()
        .slice(0, mostShown)
        .map((part) => ({ part, reason: pythonReason }))
    : [];
}
