/** Reads the fields of an agent file and records a diagnostic at the location of each bad field. */
import type { AgentDiagnostic } from "@aegis/contract/agent.ts";

export type FieldNote = (level: AgentDiagnostic["level"], key: string, message: string) => void;

export class FieldReader {
  readonly #values: Readonly<Record<string, unknown>>;
  readonly #note: FieldNote;

  constructor(values: Readonly<Record<string, unknown>>, note: FieldNote) {
    this.#values = values;
    this.#note = note;
  }

  get keys(): string[] {
    return Object.keys(this.#values).filter((key) => this.#values[key] !== null);
  }

  error(key: string, message: string): void {
    this.#note("error", key, message);
  }

  warn(key: string, message: string): void {
    this.#note("warning", key, message);
  }

  /** Returns the value of the first existing key; warns about the other keys. */
  first(...keys: string[]): { key: string; value: unknown } | null {
    const given = keys.filter((key) => this.#has(key));
    const [key, ...more] = given;
    if (key === undefined) return null;
    for (const other of more) this.warn(other, `expected only one of ${keys.join(" or ")}; ${key} counts`);
    return { key, value: this.#values[key] };
  }

  /** Empty text counts as absent. So does a value that is not text, with a warning. */
  text(...keys: string[]): string | null {
    const found = this.first(...keys);
    if (found === null) return null;
    const text = textOf(found.value);
    if (text === null && found.value !== "" && typeof found.value !== "string")
      this.warn(found.key, `expected text, found ${describe(found.value)}; it is left out`);
    return text;
  }

  /** A value that is not such a number counts as absent, with a warning. */
  number(range: { min: number; max: number; whole: boolean }, ...keys: string[]): number | null {
    const found = this.first(...keys);
    if (found === null || found.value === "") return null;
    const value = typeof found.value === "string" ? Number(found.value.trim()) : found.value;
    if (typeof value === "number" && value >= range.min && value <= range.max)
      if (!range.whole || Number.isInteger(value)) return value;
    const kind = range.whole ? "a whole number" : "a number";
    const expected = `expected ${kind} from ${range.min} to ${range.max}, found ${describe(found.value)}`;
    this.warn(found.key, `${expected}; it is left out`);
    return null;
  }

  /** One of several words. Another value counts as absent, with a warning. */
  choice<T extends string>(choices: Readonly<Record<string, T | null>>, ...keys: string[]): T | null {
    const found = this.first(...keys);
    if (found === null) return null;
    const { key, value } = found;
    const word = typeof value === "string" ? value.trim().toLowerCase() : "";
    if (Object.hasOwn(choices, word)) return choices[word] ?? null;
    this.warn(key, `expected one of ${Object.keys(choices).join(", ")}, found ${describe(value)}; it is left out`);
    return null;
  }

  /** A list, or comma-separated text; commas inside brackets belong to an item. */
  list(...keys: string[]): { key: string; items: string[] } | null {
    const found = this.first(...keys);
    if (found === null) return null;
    const items = listOf(found.value);
    if (items !== null) return { key: found.key, items };
    this.error(
      found.key,
      `expected a list of names, or names with commas between them, found ${describe(found.value)}`,
    );
    return null;
  }

  #has(key: string): boolean {
    return Object.hasOwn(this.#values, key) && this.#values[key] !== undefined && this.#values[key] !== null;
  }
}

/** Null if the value is not a list of texts. */
export function listOf(value: unknown): string[] | null {
  if (typeof value === "string") return splitList(value);
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string")) return null;
  return value.map((item) => item.trim()).filter((item) => item !== "");
}

/** Converts a text, a number or a list of texts to one text; null for anything else and for an empty text. */
export function textOf(value: unknown): string | null {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return textOf(value.join(" "));
  return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
}

export function describe(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (Array.isArray(value)) return "a list with something else in it";
  if (typeof value === "object") return "a map";
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

function splitList(text: string): string[] {
  return text
    .split(/,(?![^()]*\))/)
    .map((item) => item.trim())
    .filter((item) => item !== "");
}
