/** Which session last wrote a file of the project's folder. */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";

/** The last write of a file on this node that passed through a gate. The path is relative to the project. */
export type FileWriteRow = {
  path: string;
  session: SessionId;
  /** The content that the write left, or null if its end is not known. */
  hash: string | null;
  at: number;
};

/** A changed path would name another file. */
const table = new Table<FileWriteRow>("file_writes", { path: "name", session: "plain", hash: "name", at: "plain" });

export class FileWriteReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  async get(path: string): Promise<FileWriteRow | null> {
    const row = await table.one(this.sql, "WHERE path = ?", this.key(path));
    return row === null ? null : { ...row, path };
  }

  /** Each node has its own files. The name of a node has no colon. */
  protected key(path: string): string {
    const { node } = this.sql;
    return node === null ? path : `${node}:${path}`;
  }
}

export class FileWriteWrites extends FileWriteReads<RowWriter> {
  /** Replaces the row of the file. */
  async put(row: FileWriteRow): Promise<void> {
    await this.sql.put(table, "path", { ...row, path: this.key(row.path) }, `no session ${row.session}`);
  }

  async remove(path: string): Promise<void> {
    await this.sql.run("DELETE FROM file_writes WHERE path = ?", this.key(path));
  }

  /** Returns the number of removed rows. */
  async removeBefore(at: number): Promise<number> {
    return this.sql.run("DELETE FROM file_writes WHERE at < ?", at);
  }
}
