/** Finds imports of a plugin that leave its folder, without running the plugin. */
import { readFile, realpath, stat } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { dirname, extname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { PluginDiagnostic } from "@aegis/contract/plugin.ts";
import type { FoundPlugin } from "./find.ts";
import { fingerprint } from "./fingerprint.ts";
import { type Boundary, isPartOf } from "./worker/boundary.ts";

const scripts: readonly string[] = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"];
/** Statements start a line. Calls may appear anywhere, even in comments or strings, so they are only a warning. */
const statement = /^[ \t]*(?:import|export)\b(?:[^;'"`]*?\bfrom)?\s*["']([^"'\n]+)["']/gm;
const call = /\b(?:import|require)\s*\(\s*["']([^"'\n]+)["']/g;

/** Returns a diagnostic for each import of its modules that leaves the folder. The worker refuses them in any case. */
export async function foreignImports(plugin: FoundPlugin): Promise<PluginDiagnostic[]> {
  if (plugin.manifest?.has_modules !== true) return [];
  const { files } = await fingerprint(plugin.single ?? plugin.root);
  const found: PluginDiagnostic[] = [];
  for (const file of files.filter((path) => scripts.includes(extname(path)) && !isTest(path))) {
    const text = await readFile(file, "utf8").catch(() => "");
    for (const [pattern, level] of [
      [statement, "error"],
      [call, "warning"],
    ] as const) {
      for (const { 1: specifier = "", index } of text.matchAll(pattern)) {
        const problem = await leadsOut(plugin, file, specifier);
        const line = text.slice(0, index).split("\n").length;
        if (problem !== null) found.push({ level, file: file.slice(plugin.root.length + 1), line, message: problem });
      }
    }
  }
  return found;
}

async function leadsOut(boundary: Boundary, file: string, specifier: string): Promise<string | null> {
  if (specifier === "aegis" || specifier.startsWith("aegis/") || specifier.startsWith("#") || isBuiltin(specifier))
    return null;
  const isPath = /^\.\.?(?:\/|$)/.test(specifier) || isAbsolute(specifier) || specifier.startsWith("file:");
  if (!isPath) {
    if (/^[a-z]+:/.test(specifier)) return `${JSON.stringify(specifier)} is not a file of the plugin`;
    const name = specifier
      .split("/")
      .slice(0, specifier.startsWith("@") ? 2 : 1)
      .join("/");
    const isThere = await stat(join(boundary.root, "node_modules", name)).then(
      () => true,
      () => false,
    );
    return isThere ? null : `the package "${name}" is not in the plugin's own node_modules`;
  }
  const path = specifier.startsWith("file:") ? fileURLToPath(specifier) : resolve(dirname(file), specifier);
  const real = await realpath(path).catch(() => path);
  return isPartOf(boundary, real) ? null : `${JSON.stringify(specifier)} leads out of the plugin's folder (to ${real})`;
}

/** Tests run separately and may import anything. */
function isTest(file: string): boolean {
  return /\.(?:test|spec)\.[cm]?[jt]s$/.test(file);
}
