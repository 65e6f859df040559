import type { Migration } from "../migrate.ts";

/** Adds the id of the database: one row, written when the database is created or adopted. */
export const identity: Migration = {
  version: 13,
  sql: "CREATE TABLE identity (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;",
};
