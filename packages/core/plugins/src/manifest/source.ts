/** Parses the text of a manifest into fields with line numbers. */

import type { PluginDiagnostic } from "@aegis/contract/plugin.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { jsonErrorLine, jsonLines, type LineOf, nearestLine } from "@aegis/lib/json-lines.ts";
import { errorText } from "@aegis/lib/log.ts";
import { parse as parseToml, TomlError } from "smol-toml";

export type ManifestFields = Readonly<Record<string, unknown>>;

/** `fields` is null if the text cannot be parsed; `diagnostics` has the reason. */
export type ManifestSource = { fields: ManifestFields | null; lineOf: LineOf; diagnostics: PluginDiagnostic[] };

export function readJson(text: string, file: string): ManifestSource {
  try {
    return fromValue(JSON.parse(text), file, jsonLines(text));
  } catch (error) {
    return unreadable(file, jsonErrorLine(error, text), `expected JSON: ${errorText(error)}`);
  }
}

/** Merges the fields of `[plugin]` and the other tables into one map, like a JSON manifest. */
export function readToml(text: string, file: string): ManifestSource {
  let value: ManifestFields;
  try {
    value = parseToml(text);
  } catch (error) {
    const line = error instanceof TomlError ? error.line : 1;
    const [first = ""] = errorText(error).split("\n");
    return unreadable(file, line, `expected TOML: ${first.replace(/^Invalid TOML document: /, "")}`);
  }
  const lines = tomlLines(text);
  const { plugin, ...tables } = value;
  if (!isRecord(plugin))
    return unreadable(file, lines(["plugin"]) ?? 1, "expected a table [plugin] with name and version, found none");
  const lineOf: LineOf = (path) => lines(String(path[0]) in tables ? path : ["plugin", ...path]);
  return fromValue({ ...tables, ...plugin }, file, lineOf);
}

function fromValue(value: unknown, file: string, lineOf: LineOf): ManifestSource {
  if (!isRecord(value)) return unreadable(file, 1, "expected a map at the top");
  return { fields: value, lineOf, diagnostics: [] };
}

function unreadable(file: string, line: number, message: string): ManifestSource {
  return { fields: null, lineOf: () => null, diagnostics: [{ level: "error", file, line, message }] };
}

/** Finds headers and keys line by line, because the parser does not report positions. */
function tomlLines(text: string): LineOf {
  const lines = new Map<string, number>();
  const counts = new Map<string, number>();
  let table: (string | number)[] = [];
  for (const [index, row] of text.split(/\r?\n/).entries()) {
    const header = /^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?/.exec(row);
    if (header?.[2] !== undefined) {
      table = keyParts(header[2]);
      if (header[1] === "[[") {
        const name = table.join(".");
        const count = counts.get(name) ?? 0;
        counts.set(name, count + 1);
        table = [...table, count];
      }
      lines.set(JSON.stringify(table), index + 1);
      continue;
    }
    const key = /^\s*((?:"[^"]*"|[\w.-]+)(?:\s*\.\s*(?:"[^"]*"|[\w-]+))*)\s*=/.exec(row)?.[1];
    if (key !== undefined) lines.set(JSON.stringify([...table, ...keyParts(key)]), index + 1);
  }
  return nearestLine(lines);
}

function keyParts(key: string): string[] {
  return (key.match(/"[^"]*"|[^.\s]+/g) ?? []).map((part) => part.replace(/^"|"$/g, ""));
}
