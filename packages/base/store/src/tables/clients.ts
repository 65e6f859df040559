/** Clients with their own credential. */
import type { Client } from "@aegis/contract/client.ts";
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";

export type ClientRow = Client & { token_hash: string };

const table = new Table<ClientRow>("clients", {
  name: "name",
  token_hash: "name",
  created_at: "plain",
  last_used_at: "plain",
});

export class ClientReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  /** By name. */
  list(): Promise<ClientRow[]> {
    return table.all(this.sql, "ORDER BY name");
  }
}

export class ClientWrites extends ClientReads<RowWriter> {
  /** Throws `conflict` if the name has a credential. */
  async insert(row: ClientRow): Promise<void> {
    await this.sql.insert(table, row, { taken: `the client "${row.name}" already has a credential` });
  }

  async used(name: string, at: number): Promise<void> {
    await this.sql.update(table, { last_used_at: at }, ["name = ?", name]);
  }

  async remove(name: string): Promise<void> {
    await this.sql.run("DELETE FROM clients WHERE name = ?", name);
  }
}
