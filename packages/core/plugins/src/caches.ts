/**
 * Caches that programs leave in a plugin's folder. They are not part of what the user trusts, so that running a program
 * does not make its plugin untrusted. Therefore none of their content may be executed:
 *
 * - `__pycache__/*.pyc`: Python is configured to keep its bytecode elsewhere and then does not read it here, and
 *   existing bytecode is deleted before a program starts. A `.pyc` beside its source can be imported directly and is
 *   not a cache.
 * - `.pytest_cache`, `.mypy_cache`, `.ruff_cache`: data of developer tools.
 * - `node_modules/.cache`: data of developer tools.
 * - `.DS_Store`: metadata of the macOS Finder.
 *
 * Modules of a plugin cannot be imported from these places, and a manifest cannot name a program in them.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { listTree } from "@aegis/lib/safe-tree.ts";

/** Skipped when a plugin is installed. */
export const cacheFolders: readonly string[] = ["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"];

const cached =
  /(?:^|\/)(?:__pycache__\/[^/]+\.pyc(?:\.\d+)?$|\.(?:pytest|mypy|ruff)_cache\/|node_modules\/\.cache\/|\.DS_Store$)/;

/** `path` is relative to the plugin's folder, with `/` separators. */
export function isCache(path: string): boolean {
  return cached.test(path);
}

/** Deletes bytecode that a program could run although the user did not trust it. */
export async function removeBytecode(root: string): Promise<void> {
  const files = await listTree(root, new Set([".git"]));
  await Promise.all(
    files
      .filter((path) => path.includes("__pycache__/") && isCache(path))
      .map((path) => rm(join(root, path), { force: true })),
  );
}
