/**
 * Resolves and loads a plugin's modules in its worker: `import "aegis"` resolves to the running Aegis, TypeScript needs
 * no build, and syntax that Node refuses (enums, imports without an extension, TypeScript in node_modules) loads too.
 */
import { readFileSync, statSync } from "node:fs";
import { registerHooks, setSourceMapsSupport } from "node:module";
import { dirname, extname, join, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { WorkerStart } from "../protocol.ts";
import { ImportGuard } from "./boundary.ts";
import { isRewritten, readIfThere, stripTypes } from "./strip.ts";

type Loaded = { format: "module" | "commonjs"; source: string };

const extensions = [".ts", ".mts", ".js", ".mjs", ".cjs", ".json"];
const scripts: readonly string[] = [".ts", ".mts", ".cts", ".js"];
const longestPackageWalk = 30;
/** `import fs = require("node:fs")` becomes a call of `require`, which a module does not have. */
const importAssignment = /^\s*(?:export\s+)?import\s+[\w$]+\s*=\s*require\s*\(/m;
const requireOfModule =
  'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url); ';

export function registerLoader(start: Pick<WorkerStart, "root" | "single" | "api" | "cacheDir">): void {
  const { root, api, cacheDir } = start;
  const guard = new ImportGuard(start, [api.full, api.bare, api.testing]);
  /** Modules that may use `z`: only they pay for loading it. */
  const usesZod = new Set<string>();

  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === "aegis") {
        const full = context.parentURL === undefined || usesZod.has(context.parentURL);
        return { url: full ? api.full : api.bare, shortCircuit: true };
      }
      if (specifier === "aegis/testing") return { url: api.testing, shortCircuit: true };
      const found = resolved(specifier, context.parentURL, () => next(specifier, context));
      guard.check(specifier, found.url, context.parentURL);
      return found;
    },
    load(url, context, next) {
      if (!url.startsWith("file:") || url === api.full || url === api.bare || url === api.testing)
        return next(url, context);
      const path = fileURLToPath(url);
      if (!scripts.includes(extname(path))) return next(url, context);
      const isOurs = path.startsWith(root + sep);
      if (!isOurs && extname(path) === ".js") return next(url, context);
      const source = readFileSync(path, "utf8");
      if (/\bz\b/.test(source) || /export\s*\*/.test(source)) usesZod.add(url);
      const loaded =
        extname(path) === ".js" ? plainModule(source, path, root) : typeScript(source, path, root, cacheDir);
      return { ...loaded, shortCircuit: true };
    },
  });
}

function resolved<Found extends { url: string }>(specifier: string, parent: string | undefined, next: () => Found) {
  try {
    return next();
  } catch (error) {
    const found = guess(specifier, parent);
    if (found === null) throw error;
    return { url: found, shortCircuit: true };
  }
}

function typeScript(source: string, path: string, root: string, cacheDir: string): Loaded {
  const { format } = plainModule(source, path, root);
  const stripped = stripTypes(source, path, cacheDir);
  if (!isRewritten(stripped)) return { format, source: stripped };
  setSourceMapsSupport(true);
  const needsRequire = format === "module" && importAssignment.test(source);
  return { format, source: needsRequire ? requireOfModule + stripped : stripped };
}

/** A package.json above the plugin belongs to the project and does not apply. */
function plainModule(source: string, path: string, root: string): Loaded {
  if (path.endsWith(".cts")) return { format: "commonjs", source };
  if (path.endsWith(".mts")) return { format: "module", source };
  const said = packageType(path, root);
  if (said !== null) return { format: said, source };
  const isModule = /^\s*(?:import|export)\b/m.test(source);
  const isCommon = /\b(?:module\.exports|exports\.\w+\s*=|require\s*\()/.test(source);
  return { format: isCommon && !isModule ? "commonjs" : "module", source };
}

function packageType(path: string, root: string): Loaded["format"] | null {
  let folder = dirname(path);
  for (let step = 0; step < longestPackageWalk && folder.startsWith(root); step++, folder = dirname(folder)) {
    const text = readIfThere(join(folder, "package.json"));
    if (text === null) continue;
    try {
      const { type } = JSON.parse(text) as { type?: unknown };
      if (type === "module") return "module";
      if (type === "commonjs") return "commonjs";
    } catch {
      // An unreadable package.json has no type; other tools report it.
    }
    return null;
  }
  return null;
}

/** Resolves `./helper` to `./helper.ts`, `./helper.js` to its TypeScript source, and a folder to its index. */
function guess(specifier: string, parent: string | undefined): string | null {
  if (parent === undefined || !parent.startsWith("file:") || !/^\.\.?(?:\/|$)/.test(specifier)) return null;
  const path = join(dirname(fileURLToPath(parent)), specifier);
  const candidates = [
    ...extensions.map((extension) => path + extension),
    ...(/\.m?js$/.test(path) ? [path.replace(/js$/, "ts")] : []),
    ...extensions.map((extension) => join(path, `index${extension}`)),
  ];
  const found = candidates.find((candidate) => statSync(candidate, { throwIfNoEntry: false })?.isFile() === true);
  return found === undefined ? null : pathToFileURL(found).href;
}
