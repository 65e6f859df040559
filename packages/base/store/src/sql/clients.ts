/** Clients with their own credential. */
import type { ClientRow, ClientTable } from "../store.ts";
import { insertInto, insertRow, type Sql } from "./sql.ts";

const insert = insertInto("clients", ["name", "token_hash", "created_at", "last_used_at"]);

export class SqlClients implements ClientTable {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async list(): Promise<ClientRow[]> {
    return this.#sql.all<ClientRow>("SELECT name, token_hash, created_at, last_used_at FROM clients ORDER BY name");
  }

  async insert({ name, token_hash, created_at, last_used_at }: ClientRow): Promise<void> {
    await insertRow(this.#sql, insert, [name, token_hash, created_at, last_used_at], {
      taken: `the client "${name}" already has a credential`,
    });
  }

  async used(name: string, at: number): Promise<void> {
    await this.#sql.run("UPDATE clients SET last_used_at = ? WHERE name = ?", at, name);
  }

  async remove(name: string): Promise<void> {
    await this.#sql.run("DELETE FROM clients WHERE name = ?", name);
  }
}
