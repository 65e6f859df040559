/** All rows of an embedded database, for copying them to another store and back. */

import { insertText, type RawRow, type RawSource, type RawTable, type RawTarget } from "@aegis/store/copy-rows.ts";
import type { Value } from "@aegis/store/sql/sql.ts";
import type { Connection } from "./connection.ts";

export class SqliteRows implements RawSource, RawTarget {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  tables(): RawTable[] {
    const names = this.#connection.all<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
    );
    return names.map(({ name }) => ({
      name,
      columns: this.#connection
        .all<{ name: string }>("SELECT name FROM pragma_table_info(?)", name)
        .map((column) => column.name),
    }));
  }

  count(table: string): number {
    return this.#connection.get<{ count: number }>(`SELECT count(*) AS count FROM "${table}"`)?.count ?? 0;
  }

  async *pages({ name, columns }: RawTable, size: number): AsyncIterable<RawRow[]> {
    const list = columns.map((column) => `"${column}"`).join(", ");
    let page: RawRow[] = [];
    for (const row of this.#connection.iterate<Record<string, Value>>(`SELECT ${list} FROM "${name}"`)) {
      page.push(columns.map((column) => row[column] ?? null));
      if (page.length < size) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  }

  insert(table: RawTable, rows: readonly RawRow[]): void {
    const text = insertText(table, `(${table.columns.map(() => "?").join(", ")})`);
    for (const row of rows) this.#connection.run(text, ...row);
  }
}
