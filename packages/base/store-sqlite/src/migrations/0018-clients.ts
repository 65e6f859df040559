import type { Migration } from "../migrate.ts";

/** Programs that use Aegis over MCP with a credential of their own. Only the hash of a credential is stored. */
export const clients: Migration = {
  version: 18,
  sql: `
    CREATE TABLE clients (
      name TEXT PRIMARY KEY,
      token_hash TEXT NOT NULL UNIQUE,
      created_at INTEGER NOT NULL,
      last_used_at INTEGER
    ) STRICT, WITHOUT ROWID;
  `,
};
