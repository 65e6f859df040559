/** Finds files that ship with the package, from `src/` in development and from `dist/` when installed. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const packageName = "aegis-agents";

/** Returns the absolute path of a file under `assets/`. Throws if this code runs outside its package. */
export function assetPath(name: string): string {
  return join(packageRoot(), "assets", name);
}

/** The folder of the plugins that ship with Aegis. */
export function bundledPluginsDir(): string {
  return join(packageRoot(), "plugins");
}

/** The root folder of the package that contains this code. */
export function packageRoot(): string {
  const start = dirname(fileURLToPath(import.meta.url));
  for (let folder = start; ; folder = dirname(folder)) {
    if (nameIn(join(folder, "package.json")) === packageName) return folder;
    if (dirname(folder) === folder) throw new Error(`no package.json of "${packageName}" above ${start}`);
  }
}

/** A missing or broken package.json belongs to another package. */
function nameIn(manifest: string): unknown {
  try {
    return (JSON.parse(readFileSync(manifest, "utf8")) as { name?: unknown }).name;
  } catch {
    return undefined;
  }
}
