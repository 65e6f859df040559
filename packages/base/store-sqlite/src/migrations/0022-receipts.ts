import type { Migration } from "../migrate.ts";

/** Checks of tasks and subagents, and the receipts of their runs. `scope` groups the runs of one check. */
export const receipts: Migration = {
  version: 22,
  sql: `
    CREATE TABLE checks (
      subject TEXT PRIMARY KEY,
      definition TEXT NOT NULL
    ) STRICT;
    CREATE TABLE receipts (
      position INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      scope TEXT NOT NULL,
      kind TEXT NOT NULL,
      subject TEXT NOT NULL,
      session TEXT NOT NULL REFERENCES sessions (id),
      turn TEXT,
      command TEXT NOT NULL,
      status TEXT NOT NULL,
      exit INTEGER,
      duration_ms REAL,
      tree TEXT,
      head TEXT,
      tail TEXT NOT NULL,
      counts TEXT,
      changed TEXT NOT NULL,
      problem TEXT,
      message TEXT,
      started_at INTEGER NOT NULL,
      ended_at INTEGER
    ) STRICT;
    CREATE INDEX receipts_by_scope ON receipts (scope, position);
    CREATE INDEX receipts_by_subject ON receipts (subject, position);
    CREATE INDEX receipts_by_session ON receipts (session, position);
  `,
};
