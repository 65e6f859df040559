import type { Migration } from "../migrate.ts";

/**
 * Stores everything that a person must see to answer an ask, allows asks without a deadline, and records how an ask
 * ended.
 */
export const wholeAsks: Migration = {
  version: 12,
  sql: `
    CREATE TABLE whole_asks (
      position INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      session TEXT NOT NULL REFERENCES sessions (id),
      kind TEXT NOT NULL,
      question TEXT NOT NULL,
      reason TEXT,
      gate INTEGER NOT NULL,
      tool TEXT,
      detail TEXT NOT NULL,
      changes TEXT NOT NULL,
      cwd TEXT,
      origin TEXT,
      omitted INTEGER NOT NULL,
      options TEXT NOT NULL,
      digest TEXT NOT NULL,
      status TEXT NOT NULL,
      answer TEXT,
      choice TEXT,
      used INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER,
      settled_at INTEGER,
      settled_by TEXT,
      settled_reason TEXT
    ) STRICT;
    INSERT INTO whole_asks (position, id, session, kind, question, gate, tool, detail, changes, omitted, options, digest,
        status, answer, choice, used, created_at, expires_at, settled_at)
      SELECT position, id, session, kind, question, 0, tool, detail, '[]', 0, options, digest, status,
        answer, choice, used, created_at, expires_at, settled_at FROM asks;
    DROP TABLE asks;
    ALTER TABLE whole_asks RENAME TO asks;
    CREATE INDEX asks_by_status ON asks (status);
    CREATE INDEX asks_by_action ON asks (session, digest);
    CREATE INDEX asks_by_choice ON asks (session, tool, choice) WHERE choice IS NOT NULL;
  `,
};
