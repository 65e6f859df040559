/** All rows of a project's schema, for copying them to another store and back. */

import { insertText, type RawRow, type RawSource, type RawTable, type RawTarget } from "@aegis/store/copy-rows.ts";
import type { Value } from "@aegis/store/sql/sql.ts";
import type { Client } from "pg";
import { eventKeys } from "./event-keys.ts";
import { encodeText } from "./text.ts";

/** PostgreSQL accepts 65,535 values in one statement. */
const mostValues = 30_000;

/** `client` is in a transaction whose search path is the schema. */
export class PostgresRows implements RawSource, RawTarget {
  readonly #client: Client;
  readonly #tables: readonly RawTable[];

  /** `tables` are those of the embedded store; what only PostgreSQL has is derived. */
  constructor(client: Client, tables: readonly RawTable[]) {
    this.#client = client;
    this.#tables = tables;
  }

  tables(): RawTable[] {
    return [...this.#tables];
  }

  async count(table: string): Promise<number> {
    const { rows } = await this.#client.query<{ count: number }>(`SELECT count(*) AS count FROM "${table}"`);
    return rows[0]?.count ?? 0;
  }

  async *pages({ name, columns }: RawTable, size: number): AsyncIterable<RawRow[]> {
    const list = columns.map((column) => `"${column}"`).join(", ");
    await this.#client.query(`DECLARE copying CURSOR FOR SELECT ${list} FROM "${name}"`);
    while (true) {
      const { rows } = await this.#client.query<Value[]>({ text: `FETCH ${size} FROM copying`, rowMode: "array" });
      if (rows.length === 0) break;
      yield rows;
    }
    await this.#client.query("CLOSE copying");
  }

  async unfinishedRuns(): Promise<{ id: string }[]> {
    const text = "SELECT id FROM runs WHERE status IN ('running', 'parked') ORDER BY id";
    return (await this.#client.query<{ id: string }>(text)).rows;
  }

  async insert(table: RawTable, rows: readonly RawRow[]): Promise<void> {
    const [wide, wideRows] = table.name === "events" ? withEventKeys(table, rows) : [table, rows];
    const most = Math.max(1, Math.floor(mostValues / wide.columns.length));
    for (let from = 0; from < wideRows.length; from += most) {
      const part = wideRows.slice(from, from + most);
      const tuples = part.map((row, index) => `(${row.map((_, at) => `$${index * row.length + at + 1}`).join(", ")})`);
      const values = part.flat().map((value) => (typeof value === "string" ? encodeText(value) : value));
      await this.#client.query(insertText(wide, tuples.join(", ")), values);
    }
  }
}

function withEventKeys(table: RawTable, rows: readonly RawRow[]): [RawTable, RawRow[]] {
  const [session, data] = [table.columns.indexOf("session"), table.columns.indexOf("data")];
  const wide = { name: table.name, columns: [...table.columns, "queue", "run", "schedule"] };
  const keysOf = (row: RawRow) =>
    row[session] === null ? eventKeys(JSON.parse(String(row[data]))) : { queue: null, run: null, schedule: null };
  return [
    wide,
    rows.map((row) => {
      const { queue, run, schedule } = keysOf(row);
      return [...row, queue, run, schedule];
    }),
  ];
}
