/** Copies all rows of one store to another, table by table, and verifies the number of rows. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { Eventually, Value } from "./sql/sql.ts";

export type RawTable = { name: string; columns: readonly string[] };
export type RawRow = readonly Value[];

export interface RawSource {
  tables(): Eventually<RawTable[]>;
  count(table: string): Eventually<number>;
  /** All rows, in pages of at most `size`. */
  pages(table: RawTable, size: number): AsyncIterable<RawRow[]>;
}

export interface RawTarget {
  insert(table: RawTable, rows: readonly RawRow[]): Eventually<void>;
  count(table: string): Eventually<number>;
}

export type CopyProgress = { table: string; copied: number; total: number };

/** Names the embedded database file, and is not data of the project. */
const ownIdentityTable = "identity";

const pageSize = 500;

/** Returns the number of rows of each table. Throws if the target does not hold as many. */
export async function copyRows(
  source: RawSource,
  target: RawTarget,
  onProgress: (progress: CopyProgress) => void,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of await source.tables()) {
    if (table.name === ownIdentityTable) continue;
    const total = await source.count(table.name);
    let copied = 0;
    for await (const rows of source.pages(table, pageSize)) {
      await target.insert(table, rows);
      copied += rows.length;
      onProgress({ table: table.name, copied, total });
    }
    const found = await target.count(table.name);
    if (copied !== total || found !== total)
      throw new AegisError("internal", `${total} rows of ${table.name} had to be copied, but ${found} were`, {
        hint: "nothing was changed",
      });
    counts[table.name] = total;
  }
  return counts;
}

export function insertText(table: RawTable, placeholders: string): string {
  const columns = table.columns.map((column) => `"${column}"`).join(", ");
  return `INSERT INTO "${table.name}" (${columns}) VALUES ${placeholders}`;
}
