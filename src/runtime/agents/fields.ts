/** Reads the fields of an agent file one by one, and notes what is wrong with each where it stands. */
import type { AgentDiagnostic } from "../../contract/agent.ts";

export type FieldNote = (level: AgentDiagnostic["level"], key: string, message: string) => void;

export class Fields {
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

  /** The value under the first of several names that is there; the others are warned about. */
  first(...keys: string[]): { key: string; value: unknown } | null {
    const given = keys.filter((key) => this.#has(key));
    const [key, ...more] = given;
    if (key === undefined) return null;
    for (const other of more) this.warn(other, `expected only one of ${keys.join(" or ")}; ${key} counts`);
    return { key, value: this.#values[key] };
  }

  /** An empty text counts as not written. */
  text(...keys: string[]): string | null {
    const found = this.first(...keys);
    if (found === null) return null;
    if (typeof found.value === "string") return found.value.trim() === "" ? null : found.value.trim();
    this.error(found.key, `expected text, found ${describe(found.value)}`);
    return null;
  }

  number(range: { min: number; max: number; whole: boolean }, ...keys: string[]): number | null {
    const found = this.first(...keys);
    if (found === null) return null;
    const { value } = found;
    if (typeof value === "number" && value >= range.min && value <= range.max)
      if (!range.whole || Number.isInteger(value)) return value;
    const kind = range.whole ? "a whole number" : "a number";
    this.error(found.key, `expected ${kind} from ${range.min} to ${range.max}, found ${describe(value)}`);
    return null;
  }

  /** One of several words. */
  choice<T extends string>(choices: Readonly<Record<string, T | null>>, ...keys: string[]): T | null {
    const found = this.first(...keys);
    if (found === null) return null;
    const { key, value } = found;
    if (typeof value === "string" && Object.hasOwn(choices, value)) return choices[value] ?? null;
    this.error(key, `expected one of ${Object.keys(choices).join(", ")}, found ${describe(value)}`);
    return null;
  }

  /** A list, or text with commas between its items; commas inside brackets belong to an item. */
  list(...keys: string[]): { key: string; items: string[] } | null {
    const found = this.first(...keys);
    if (found === null) return null;
    const { key, value } = found;
    if (typeof value === "string") return { key, items: splitList(value) };
    if (Array.isArray(value) && value.every((item) => typeof item === "string"))
      return { key, items: value.map((item) => item.trim()).filter((item) => item !== "") };
    this.error(key, `expected a list of names, or names with commas between them, found ${describe(value)}`);
    return null;
  }

  #has(key: string): boolean {
    return Object.hasOwn(this.#values, key) && this.#values[key] !== undefined && this.#values[key] !== null;
  }
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
