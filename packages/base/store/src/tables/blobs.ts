/** Files that the nodes of a cluster share, by their content. Base64 is a text of both databases. */
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";

/** The content of a file, by its hash. */
const table = new Table<{ sha256: string; data: string; created_at: number }>("blobs", {
  sha256: "name",
  data: "whole",
  created_at: "plain",
});

export class BlobReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  /** The content; null if it is not stored. */
  async get(sha256: string): Promise<Buffer | null> {
    const row = await table.one(this.sql, "WHERE sha256 = ?", sha256);
    return row === null ? null : Buffer.from(row.data, "base64");
  }
}

export class BlobWrites extends BlobReads<RowWriter> {
  /** Ignored if the content is stored. */
  async put(sha256: string, data: Buffer, at: number): Promise<void> {
    await this.sql.add(table, { sha256, data: data.toString("base64"), created_at: at });
  }
}
