/**
 * Restricts a plugin's imports to its folder. The user trusts the content of that folder; other code would run with the
 * same trust and could change without a new question.
 */
import { realpathSync } from "node:fs";
import { isBuiltin } from "node:module";
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { packageRoot } from "@aegis/lib/assets.ts";
import { isInside } from "@aegis/lib/files.ts";
import { isCache } from "../caches.ts";

export type Boundary = {
  /** The real path of the plugin's folder. */
  root: string;
  /** Set for a single-file plugin, which includes the files beside it whose names start with `_`. */
  single?: string | undefined;
};

/** Whether a file is part of the plugin and so of what the user trusts. `path` is a real path. */
export function isPartOf({ root, single }: Boundary, path: string): boolean {
  if (!isInside(root, path)) return false;
  const below = relative(root, path).split(sep).join("/");
  if (isCache(below)) return false;
  return single === undefined || path === single || below.startsWith("_");
}

/** Checks each import in a worker. Aegis's own imports are exempt. */
export class ImportGuard {
  readonly #boundary: Boundary;
  readonly #aegis = packageRoot();
  readonly #allowed: ReadonlySet<string>;
  /** Modules imported by Aegis, which may be anywhere. */
  readonly #ours = new Set<string>();

  /** `allowed` are the targets of `aegis`. */
  constructor(boundary: Boundary, allowed: readonly string[]) {
    this.#boundary = boundary;
    this.#allowed = new Set(allowed);
  }

  /** Throws if the plugin must not import the target of the specifier. */
  check(specifier: string, url: string, parent: string | undefined): void {
    if (this.#isOurs(parent)) {
      const path = pathOf(url);
      if (path !== null && !isInside(this.#boundary.root, path)) this.#ours.add(url);
      return;
    }
    if (isBuiltin(url) || this.#allowed.has(url)) return;
    const path = pathOf(url);
    if (path !== null && isPartOf(this.#boundary, realOf(path))) return;
    const from = parent === undefined ? "" : `, imported from ${pathOf(parent) ?? parent}`;
    throw new Error(
      `${JSON.stringify(specifier)} leads out of the plugin's folder (to ${path ?? url})${from}: ` +
        'a plugin may import its own files, its own node_modules, "aegis" and modules of Node',
    );
  }

  #isOurs(parent: string | undefined): boolean {
    if (parent === undefined) return false;
    if (this.#ours.has(parent)) return true;
    const path = pathOf(parent);
    return path !== null && isInside(this.#aegis, path) && !isInside(this.#boundary.root, path);
  }
}

function pathOf(url: string): string | null {
  if (!url.startsWith("file:")) return null;
  try {
    return fileURLToPath(url);
  } catch {
    return null;
  }
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
