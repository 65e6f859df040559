/** Collects the problems of a manifest with their locations. */
import type { PluginDiagnostic } from "@aegis/contract/plugin.ts";
import type { LineOf } from "@aegis/lib/json-lines.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { ManifestFields } from "./source.ts";

export type FieldPath = readonly (string | number)[];

export class Notes {
  readonly diagnostics: PluginDiagnostic[];
  readonly #file: string;
  readonly #lineOf: LineOf;

  constructor(file: string, lineOf: LineOf, diagnostics: PluginDiagnostic[] = []) {
    this.#file = file;
    this.#lineOf = lineOf;
    this.diagnostics = diagnostics;
  }

  get failed(): boolean {
    return this.diagnostics.some((diagnostic) => diagnostic.level === "error");
  }

  note(level: PluginDiagnostic["level"], path: FieldPath, message: string): void {
    const key = path.length === 0 ? "" : `${pathText(path)}: `;
    this.diagnostics.push({ level, file: this.#file, line: this.#lineOf(path), message: `${key}${message}` });
  }

  error(path: FieldPath, message: string): void {
    this.note("error", path, message);
  }

  warn(path: FieldPath, message: string): void {
    this.note("warning", path, message);
  }

  unknownKeys(fields: ManifestFields, known: readonly string[], at: FieldPath = []): void {
    for (const key of Object.keys(fields)) {
      if (known.includes(key) || key.startsWith("$") || key.startsWith("//")) continue;
      this.warn([...at, key], `no such key${didYouMean(key, known)}; it has no effect`);
    }
  }

  /** The text of a key; reports an error for another type, returns null if absent. */
  text(fields: ManifestFields, key: string, at: FieldPath = []): string | null {
    const value = fields[key];
    if (value === undefined || value === null) return null;
    if (typeof value === "string") return value;
    this.error([...at, key], `expected text, found ${found(value)}`);
    return null;
  }

  flag(fields: ManifestFields, key: string, at: FieldPath = []): boolean {
    const value = fields[key];
    if (value === undefined || value === null) return false;
    if (typeof value === "boolean") return value;
    this.error([...at, key], `expected true or false, found ${found(value)}`);
    return false;
  }

  texts(fields: ManifestFields, key: string, at: FieldPath = []): string[] {
    const value = fields[key];
    if (value === undefined || value === null) return [];
    if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value;
    this.error([...at, key], `expected a list of texts, found ${found(value)}`);
    return [];
  }
}

/** Formats a value for a message, shortened. */
export function found(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a map";
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

function pathText(path: FieldPath): string {
  return path.map((part, index) => (typeof part === "number" ? `[${part}]` : index === 0 ? part : `.${part}`)).join("");
}
