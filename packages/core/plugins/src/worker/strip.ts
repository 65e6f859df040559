/** Strips types from TypeScript, with a cache by content: loading the stripper costs more than a worker itself. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join } from "node:path";
import { pid, version } from "node:process";
import { refuseDecorators } from "./decorators.ts";

/** Changes with what `strip` makes of the same source. */
const cacheFormat = "2";

/** Ends text that was rewritten: its lines are not those of the source any more. */
const mapMark = "//# sourceMappingURL=data:";

/** Rewritten text carries a source map, so that the lines of errors are those of the source. */
export function isRewritten(stripped: string): boolean {
  return stripped.includes(mapMark);
}

/** The cache file of a text. */
export function strippedFile(source: string, cacheDir: string): string {
  return join(cacheDir, `${createHash("sha256").update(`${version} ${cacheFormat}\n${source}`).digest("hex")}.js`);
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
  const stripped = withoutTypes(source, path);
  refuseDecorators(source, path);
  return stripped;
}

function withoutTypes(source: string, path: string): string {
  try {
    // Types become blanks, so that lines and columns match the source.
    return stripTypeScriptTypes(source);
  } catch (error) {
    if (!isUnsupported(error)) throw located(error, path);
  }
  try {
    // Enums, namespaces, parameter properties and `import x = require()` become JavaScript.
    return stripTypeScriptTypes(source, { mode: "transform", sourceMap: true });
  } catch (error) {
    throw located(error, path);
  }
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
