/** Shared files. Base64 is a text of both databases. */
import type { BlobTable } from "../blob-tables.ts";
import type { Sql } from "./sql.ts";

export class SqlBlobs implements BlobTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(sha256: string): Promise<Buffer | null> {
    const row = await this.#sql.get<{ data: string }>("SELECT data FROM blobs WHERE sha256 = ?", sha256);
    return row === undefined ? null : Buffer.from(row.data, "base64");
  }

  async put(sha256: string, data: Buffer, at: number): Promise<void> {
    const text = "INSERT INTO blobs (sha256, data, created_at) VALUES (?, ?, ?) ON CONFLICT (sha256) DO NOTHING";
    await this.#sql.run(text, sha256, data.toString("base64"), at);
  }
}
