/**
 * The first reads of the units of one transaction. Identical reads are sent once, and reads that differ only in
 * their values are sent in one statement.
 */

import type { Value } from "@aegis/store/sql/sql.ts";
import type { Client } from "pg";
import type { Footprint } from "./footprint.ts";
import { placeColumn, type Statements } from "./statements.ts";

export type Rows = Record<string, unknown>[];
/** A read and its answer, which is null until it is there. */
export type EarlyRead = Footprint & { rows: Rows | null };

export class EarlyReads {
  readonly #statements: Statements;
  /** By text, and then by values. */
  #asked = new Map<string, Map<string, EarlyRead[]>>();
  #isOver = false;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Returns null for a read that must wait for the turn of its unit. */
  ask(text: string, values: readonly Value[]): EarlyRead | null {
    const shape = this.#statements.shape(text);
    if (this.#isOver || !shape.isPlainRead) return null;
    const read: EarlyRead = { shape, values, rows: null };
    let alike = this.#asked.get(text);
    if (alike === undefined) {
      alike = new Map();
      this.#asked.set(text, alike);
    }
    const key = JSON.stringify(values);
    const equal = alike.get(key);
    if (equal === undefined) alike.set(key, [read]);
    else equal.push(read);
    return read;
  }

  /** Sends what was asked; nothing more can be asked. Rejects if a read failed, which aborts the transaction. */
  async send(client: Client): Promise<void> {
    this.#isOver = true;
    const answers = [...this.#asked].flatMap(([text, alike]) => this.#sendAlike(client, text, [...alike.values()]));
    this.#asked.clear();
    await Promise.all(answers);
  }

  #sendAlike(client: Client, text: string, groups: EarlyRead[][]): Promise<void>[] {
    const asked = groups.map((equal) => equal[0]?.values ?? []);
    const together = groups.length > 1 ? this.#statements.bindTogether(text, asked) : null;
    if (together !== null) return [client.query<Rows[number]>(together).then(({ rows }) => distribute(rows, groups))];
    return groups.map(async (equal, at) => {
      const { rows } = await client.query<Rows[number]>(this.#statements.bind(text, asked[at] ?? []));
      give(equal, rows);
    });
  }
}

function distribute(rows: Rows, groups: EarlyRead[][]): void {
  const found: Rows[] = groups.map(() => []);
  for (const { [placeColumn]: place, ...row } of rows) found[Number(place) - 1]?.push(row);
  for (const [at, equal] of groups.entries()) give(equal, found[at] ?? []);
}

/** Each unit gets rows of its own, which it may change. */
function give(equal: EarlyRead[], rows: Rows): void {
  for (const [at, read] of equal.entries()) read.rows = at === 0 ? rows : rows.map((row) => ({ ...row }));
}
