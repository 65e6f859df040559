/** Translates the shared SQL to PostgreSQL's and names each statement, so that the server prepares it once. */
import type { Value } from "@aegis/store/sql/sql.ts";
import { type Shape, shapeOf } from "./footprint.ts";
import { encodeText } from "./text.ts";

export type Statement = { name: string; text: string; values: Value[] };
/** One statement for several reads: each value is an array, with one element for each read. */
export type CommonStatement = { name: string; text: string; values: Value[][] };

/** The column of a common statement that says to which of the reads a row belongs, counted from 1. */
export const placeColumn = "aegis_place";

type Known = { name: string; text: string; shape: Shape | null };

export class Statements {
  readonly #known = new Map<string, Known>();

  bind(shared: string, values: readonly Value[]): Statement {
    const { name, text } = this.#find(shared);
    return { name, text, values: values.map(encoded) };
  }

  /**
   * Reads of one text that differ in their values. Returns null if they cannot be asked together: only reads whose values
   * are all compared with a column can.
   */
  bindTogether(shared: string, reads: readonly (readonly Value[])[]): CommonStatement | null {
    const types = (reads[0] ?? []).map((_, at) => commonType(reads.map((values) => values[at] ?? null)));
    const isPlain = types.length > 0 && !types.includes(null) && this.shape(shared).keys.size === types.length;
    if (!isPlain) return null;
    const { name, text } = this.#find(`${types.join()}: ${shared}`, () => commonText(translate(shared), types));
    return { name, text, values: types.map((_, at) => reads.map((values) => encoded(values[at] ?? null))) };
  }

  shape(shared: string): Shape {
    const known = this.#find(shared);
    known.shape ??= shapeOf(shared);
    return known.shape;
  }

  #find(shared: string, toText: (shared: string) => string = translate): Known {
    let known = this.#known.get(shared);
    if (known === undefined) {
      known = { name: `aegis_${this.#known.size + 1}`, text: toText(shared), shape: null };
      this.#known.set(shared, known);
    }
    return known;
  }
}

/** Null if the server could take one of the values for another type than it has alone. */
function commonType(values: readonly Value[]): string | null {
  if (values.every((value) => typeof value === "string")) return "text";
  return values.every((value) => Number.isSafeInteger(value)) ? "bigint" : null;
}

/**
 * `OFFSET 0` keeps the server from joining the values with the whole table: it reads each of them by the index, as the
 * read alone does.
 */
function commonText(text: string, types: readonly (string | null)[]): string {
  const arrays = types.map((type, at) => `$${at + 1}::${type}[]`).join(", ");
  const names = types.map((_, at) => `value${at + 1}`).join(", ");
  const read = text.replace(/\$(\d+)/g, "asked.value$1");
  return `SELECT asked.${placeColumn}, found.* FROM unnest(${arrays}) WITH ORDINALITY AS asked (${names}, ${placeColumn})
    CROSS JOIN LATERAL (SELECT * FROM (${read}) AS one OFFSET 0) AS found`;
}

export function encoded(value: Value): Value {
  return typeof value === "string" ? encodeText(value) : value;
}

/** Placeholders become `$1`, `$2`; a JSON path of one key becomes the key. */
export function translate(shared: string): string {
  const text = shared.replace(/'\$\.(\w+)'/g, "'$1'");
  if (/\?\d/.test(text)) return text.replace(/\?(\d)/g, "$$$1");
  let count = 0;
  return text.replace(/\?/g, () => {
    count += 1;
    return `$${count}`;
  });
}
