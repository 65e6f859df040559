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
    const text = "SELECT session, hash, at FROM file_writes WHERE path = ?";
    const row = await this.#sql.get<Omit<FileWriteRow, "path">>(text, this.#key(path));
    return row === undefined ? null : { path, ...row };
  }

  async put({ path, session, hash, at }: FileWriteRow): Promise<void> {
    try {
      await this.#sql.attempt(put, this.#key(path), session, hash, at);
    } catch (error) {
      throw onConstraint(error, `no session ${session}`);
    }
  }

  async remove(path: string): Promise<void> {
    await this.#sql.run("DELETE FROM file_writes WHERE path = ?", this.#key(path));
  }

  async removeBefore(at: number): Promise<number> {
    return this.#sql.run("DELETE FROM file_writes WHERE at < ?", at);
  }

  /** Each node has its own files. The name of a node has no colon. */
  #key(path: string): string {
    const { node } = this.#sql;
    return node === null ? path : `${node}:${path}`;
  }
}
