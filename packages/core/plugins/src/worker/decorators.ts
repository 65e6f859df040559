/**
 * Refuses decorators with the place and the way out. The type stripper leaves them as they are, and the error of V8
 * names neither file nor line.
 */
import { stripTypeScriptTypes } from "node:module";

/** Comments and plain strings, which may hold any `@`, or what may be a decorator. */
const token = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|@(?=[\w$(])/g;
/** A character that no program contains outside of literals and comments. */
const noToken = "\0";

/** `source` parses. Throws a `SyntaxError` at its first decorator. */
export function refuseDecorators(source: string, path: string): void {
  for (const { 0: text, index } of source.matchAll(token)) {
    if (text !== "@" || parses(source.slice(0, index) + noToken + source.slice(index + 1))) continue;
    const lines = source.slice(0, index).split("\n");
    const [name = ""] = /^@[\w$.]*/.exec(source.slice(index)) ?? [];
    const error = new SyntaxError(
      `decorators such as ${name} are not supported: call a function instead, or compile the plugin to JavaScript first`,
    );
    error.stack = `${path}:${lines.length}\n${error.name}: ${error.message}`;
    throw error;
  }
}

function parses(source: string): boolean {
  try {
    stripTypeScriptTypes(source, { mode: "transform" });
    return true;
  } catch {
    return false;
  }
}
