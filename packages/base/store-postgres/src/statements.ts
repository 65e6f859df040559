/** Translates the shared SQL to PostgreSQL's and names each statement, so that the server prepares it once. */
import type { Value } from "@aegis/store/sql/sql.ts";
import { encodeText } from "./text.ts";

export type Statement = { name: string; text: string; values: Value[] };

export class Statements {
  readonly #known = new Map<string, { name: string; text: string }>();

  bind(shared: string, values: readonly Value[]): Statement {
    let known = this.#known.get(shared);
    if (known === undefined) {
      known = { name: `aegis_${this.#known.size + 1}`, text: translate(shared) };
      this.#known.set(shared, known);
    }
    return { ...known, values: values.map((value) => (typeof value === "string" ? encodeText(value) : value)) };
  }
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
