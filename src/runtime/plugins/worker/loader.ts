/**
 * How a plugin's modules are found and read in its worker: `import "aegis"` leads to the running Aegis, TypeScript needs
 * no build, and what Node itself would refuse (enums, imports without an extension, TypeScript in node_modules) loads too.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { createRequire, registerHooks, stripTypeScriptTypes } from "node:module";
import { dirname, extname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { WorkerStart } from "../protocol.ts";

type Loaded = { format: "module" | "commonjs"; source: string };

const extensions = [".ts", ".mts", ".js", ".mjs", ".cjs", ".json"];
const scripts: readonly string[] = [".ts", ".mts", ".cts", ".js"];
const longestPackageWalk = 30;

export function registerLoader({ root, api, cacheDir }: Pick<WorkerStart, "root" | "api" | "cacheDir">): void {
  /** Modules that may use `z`: only they pay for loading it. */
  const usesZod = new Set<string>();

  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === "aegis") {
        const full = context.parentURL === undefined || usesZod.has(context.parentURL);
        return { url: full ? api.full : api.bare, shortCircuit: true };
      }
      if (specifier === "aegis/testing") return { url: api.testing, shortCircuit: true };
      try {
        return next(specifier, context);
      } catch (error) {
        const found = guess(specifier, context.parentURL);
        if (found === null) throw error;
        return { url: found, shortCircuit: true };
      }
    },
    load(url, context, next) {
      if (!url.startsWith("file:") || url === api.full || url === api.bare || url === api.testing)
        return next(url, context);
      const path = fileURLToPath(url);
      if (!scripts.includes(extname(path))) return next(url, context);
      const isOurs = path.startsWith(root);
      if (!isOurs && extname(path) === ".js") return next(url, context);
      const source = readFileSync(path, "utf8");
      if (/\bz\b/.test(source) || /export\s*\*/.test(source)) usesZod.add(url);
      const loaded =
        extname(path) === ".js" ? plainModule(source, path, root) : typeScript(source, path, root, cacheDir);
      return { ...loaded, shortCircuit: true };
    },
  });
}

function typeScript(source: string, path: string, root: string, cacheDir: string): Loaded {
  const { format } = plainModule(source, path, root);
  const key = createHash("sha256").update(`${process.version}\n${source}`).digest("hex");
  const kept = join(cacheDir, `${key}.js`);
  const known = readIfThere(kept);
  if (known !== null) return { format: known.startsWith(commonJsMark) ? "commonjs" : format, source: known };
  let stripped: Loaded;
  try {
    // Types become blanks, so that lines and columns stay what the author sees.
    stripped = { format, source: stripTypeScriptTypes(source) };
  } catch (error) {
    if (!isUnsupported(error)) throw located(error, path);
    stripped = { format: "commonjs", source: transform(source, path) };
  }
  keep(kept, stripped.source);
  return stripped;
}

/** What jiti makes is CommonJS, which the first line tells. */
const commonJsMark = '"use strict";Object.defineProperty(exports, "__esModule"';

/** Slower by far and loaded only when needed: enums, namespaces, parameter properties, decorators. */
function transform(source: string, path: string): string {
  const { createJiti } = createRequire(import.meta.url)("jiti") as typeof import("jiti");
  const jiti = createJiti(path, { fsCache: false, moduleCache: false });
  return jiti.transform({ source, filename: path, ts: true });
}

/** A package.json above the plugin is the project's and says nothing about the plugin. */
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
      // Its own diagnostics come from whoever wrote it; without a type it says nothing here.
    }
    return null;
  }
  return null;
}

/** `./helper` for `./helper.ts`, `./helper.js` for the TypeScript it was made from, a folder for its index. */
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

function isUnsupported(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX";
}

/** The parser knows the line but not the file. */
function located(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || error.stack === undefined) return error;
  const line = /^(?:[^\n]*?):(\d+)\n/.exec(error.stack)?.[1] ?? "1";
  error.stack = `${path}:${line}\n${error.stack.split("\n").slice(1).join("\n")}`;
  return error;
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/** Whole or not at all, because several workers may write the same; a cache that cannot be written is only slow. */
function keep(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const temporary = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}.tmp`;
    writeFileSync(temporary, text, { mode: 0o600 });
    renameSync(temporary, path);
  } catch {
    // Next time again.
  }
}
