import type { Migration } from "../migrate.ts";

export const asks: Migration = {
  version: 2,
  sql: `
    ALTER TABLE sessions ADD COLUMN ask_policy TEXT NOT NULL DEFAULT 'wait';

    CREATE TABLE asks (
      position INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      session TEXT NOT NULL REFERENCES sessions (id),
      kind TEXT NOT NULL,
      question TEXT NOT NULL,
      tool TEXT,
      detail TEXT NOT NULL,
      options TEXT NOT NULL,
      digest TEXT NOT NULL,
      status TEXT NOT NULL,
      answer TEXT,
      choice TEXT,
      used INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      settled_at INTEGER
    ) STRICT;
    CREATE INDEX asks_by_status ON asks (status);
    CREATE INDEX asks_by_action ON asks (session, digest);
    CREATE INDEX asks_by_choice ON asks (session, tool, choice) WHERE choice IS NOT NULL;
  `,
};
