/** Strips types from TypeScript, with a cache by content: loading the stripper costs more than a worker itself. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire, stripTypeScriptTypes } from "node:module";
import { dirname, join } from "node:path";
import { pid, version } from "node:process";

/** jiti emits CommonJS, which is recognized by its first line. */
const commonJsMark = '"use strict";Object.defineProperty(exports, "__esModule"';

export function isCommonJs(stripped: string): boolean {
  return stripped.startsWith(commonJsMark);
}

/** The cache file of a text. */
export function strippedFile(source: string, cacheDir: string): string {
  return join(cacheDir, `${createHash("sha256").update(`${version}\n${source}`).digest("hex")}.js`);
}

/** Throws the syntax error with its file and line. */
export function stripTypes(source: string, path: string, cacheDir: string): string {
  const file = strippedFile(source, cacheDir);
  const known = readIfThere(file);
  if (known !== null) return known;
  const stripped = strip(source, path);
  keep(file, stripped);
  return stripped;
}

export function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

function strip(source: string, path: string): string {
  try {
    // Types become blanks, so that lines and columns match the source.
    return stripTypeScriptTypes(source);
  } catch (error) {
    if (isUnsupported(error)) return transform(source, path);
    throw located(error, path);
  }
}

/** Much slower and loaded only if needed: enums, namespaces, parameter properties, decorators. */
function transform(source: string, path: string): string {
  const { createJiti } = createRequire(import.meta.url)("jiti") as typeof import("jiti");
  const jiti = createJiti(path, { fsCache: false, moduleCache: false });
  return jiti.transform({ source, filename: path, ts: true });
}

function isUnsupported(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX";
}

/** The parser reports the line but not the file. */
function located(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || error.stack === undefined) return error;
  const line = /^(?:[^\n]*?):(\d+)\n/.exec(error.stack)?.[1] ?? "1";
  error.stack = `${path}:${line}\n${error.stack.split("\n").slice(1).join("\n")}`;
  return error;
}

/** Written atomically, because several workers may write the same file. Failing to write the cache only costs time. */
function keep(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const temporary = `${path}.${pid}.${Math.random().toString(36).slice(2)}.tmp`;
    writeFileSync(temporary, text, { mode: 0o600 });
    renameSync(temporary, path);
  } catch {
    // Stripped again next time.
  }
}
