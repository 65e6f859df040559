/** Reads a plugin's declared settings in any of the formats that manifests use. */

import type { PluginSetting } from "@aegis/contract/plugin.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { type FieldPath, found, type Notes } from "./notes.ts";
import type { ManifestFields } from "./source.ts";

type Type = PluginSetting["type"];

const types: Readonly<Record<string, Type>> = {
  string: "string",
  number: "number",
  integer: "integer",
  boolean: "boolean",
  array: "array",
  object: "object",
  text: "string",
  choice: "any",
  filepath: "string",
  file: "string",
  directory: "string",
  any: "any",
};

/**
 * Accepts a map of settings, a JSON Schema with `properties`, or either one inside `schema`. Reports problems to
 * `notes`; an unsupported setting is an error.
 */
export function readSettings(value: unknown, at: FieldPath, notes: Notes): Record<string, PluginSetting> {
  if (value === undefined || value === null) return {};
  if (!isRecord(value)) {
    notes.error(at, `expected a map of settings, found ${found(value)}`);
    return {};
  }
  if (isRecord(value.schema)) return readSettings(value.schema, [...at, "schema"], notes);
  const isSchema = value.type === "object" && isRecord(value.properties);
  const properties = isSchema ? (value.properties as ManifestFields) : value;
  const path = isSchema ? [...at, "properties"] : at;
  const required = isSchema && Array.isArray(value.required) ? value.required : [];
  const settings: Record<string, PluginSetting> = {};
  for (const [key, entry] of Object.entries(properties)) {
    const setting = readSetting(entry, [...path, key], notes);
    if (setting === null) continue;
    settings[key] = required.includes(key) ? { ...setting, required: true } : setting;
  }
  return settings;
}

function readSetting(entry: unknown, at: FieldPath, notes: Notes): PluginSetting | null {
  if (!isRecord(entry)) {
    notes.error(at, `expected a map with type and description, found ${found(entry)}`);
    return null;
  }
  const type = entry.type === undefined ? "any" : types[String(entry.type)];
  if (type === undefined) {
    notes.error([...at, "type"], `expected one of ${Object.keys(types).join(", ")}, found ${found(entry.type)}`);
    return null;
  }
  const choices = Array.isArray(entry.enum) ? entry.enum : choicesOf(entry.choices);
  return {
    type,
    description: notes.text(entry, "description", at) ?? notes.text(entry, "title", at) ?? "",
    required: notes.flag(entry, "required", at),
    secret: notes.flag(entry, "secret", at) || notes.flag(entry, "sensitive", at),
    enum: choices,
    ...(entry.default === undefined ? {} : { default: entry.default }),
  };
}

function choicesOf(value: unknown): unknown[] | null {
  if (!Array.isArray(value)) return null;
  return value.map((choice) => (isRecord(choice) ? choice.value : choice));
}
