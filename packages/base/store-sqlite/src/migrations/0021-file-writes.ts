import type { Migration } from "../migrate.ts";

/** Which session last wrote a file of the project's folder through its file tools. */
export const fileWrites: Migration = {
  version: 21,
  sql: `
    CREATE TABLE file_writes (
      path TEXT PRIMARY KEY,
      session TEXT NOT NULL REFERENCES sessions (id),
      hash TEXT,
      at INTEGER NOT NULL
    ) STRICT;
  `,
};
