/** Which session last wrote a file of the project's folder. */
import type { FileWriteRow, FileWriteTable } from "../store.ts";
import { onConstraint, type Sql } from "./sql.ts";

const put = `INSERT INTO file_writes (path, session, hash, at) VALUES (?, ?, ?, ?)
  ON CONFLICT (path) DO UPDATE SET session = excluded.session, hash = excluded.hash, at = excluded.at`;

export class SqlFileWrites implements FileWriteTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async get(path: string): Promise<FileWriteRow | null> {
    const text = "SELECT path, session, hash, at FROM file_writes WHERE path = ?";
    return (await this.#sql.get<FileWriteRow>(text, path)) ?? null;
  }

  async put({ path, session, hash, at }: FileWriteRow): Promise<void> {
    try {
      await this.#sql.attempt(put, path, session, hash, at);
    } catch (error) {
      throw onConstraint(error, `no session ${session}`);
    }
  }

  async remove(path: string): Promise<void> {
    await this.#sql.run("DELETE FROM file_writes WHERE path = ?", path);
  }

  async removeBefore(at: number): Promise<number> {
    return this.#sql.run("DELETE FROM file_writes WHERE at < ?", at);
  }
}
