/** Files that ship beside the code. Found from wherever the code runs: `src/` in development, `dist/` when installed. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const packageName = "aegis";

/** The absolute path of a file under `assets/`. Throws when this code is not inside its package. */
export function assetPath(name: string): string {
  return join(packageRoot(), "assets", name);
}

/** The plugins that come with Aegis. */
export function bundledPluginsDir(): string {
  return join(packageRoot(), "plugins");
}

/** Where the package lies that this code is part of. */
export function packageRoot(): string {
  const start = dirname(fileURLToPath(import.meta.url));
  for (let folder = start; ; folder = dirname(folder)) {
    if (nameIn(join(folder, "package.json")) === packageName) return folder;
    if (dirname(folder) === folder) throw new Error(`no package.json of "${packageName}" above ${start}`);
  }
}

/** A package.json that is missing or broken is not ours. */
function nameIn(manifest: string): unknown {
  try {
    return (JSON.parse(readFileSync(manifest, "utf8")) as { name?: unknown }).name;
  } catch {
    return undefined;
  }
}
