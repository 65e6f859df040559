import type { Migration } from "../migrate.ts";

export const landings: Migration = {
  version: 17,
  sql: `
    CREATE TABLE landings (
      position INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      session TEXT NOT NULL REFERENCES sessions (id),
      target TEXT NOT NULL,
      how TEXT NOT NULL,
      "check" TEXT,
      state TEXT NOT NULL,
      old TEXT,
      tip TEXT,
      next TEXT,
      exit INTEGER,
      tree TEXT,
      files TEXT NOT NULL,
      detail TEXT,
      created_at INTEGER NOT NULL,
      ended_at INTEGER
    ) STRICT;
    CREATE INDEX landings_open ON landings (position) WHERE ended_at IS NULL;
  `,
};
