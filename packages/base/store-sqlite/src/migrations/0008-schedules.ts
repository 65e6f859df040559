import type { Migration } from "../migrate.ts";

export const schedules: Migration = {
  version: 8,
  sql: `
    CREATE TABLE schedules (
      name TEXT PRIMARY KEY,
      settings TEXT NOT NULL,
      cursor INTEGER NOT NULL,
      fires INTEGER NOT NULL,
      since INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE firings (
      position INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      schedule TEXT NOT NULL,
      slot INTEGER NOT NULL,
      manual INTEGER NOT NULL,
      late INTEGER NOT NULL,
      status TEXT NOT NULL,
      timeout REAL,
      effect TEXT,
      stopping TEXT,
      error TEXT,
      claimed_at INTEGER NOT NULL,
      started_at INTEGER,
      ended_at INTEGER,
      result TEXT,
      action TEXT NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX firings_by_slot ON firings (schedule, slot) WHERE manual = 0;
    CREATE INDEX firings_by_schedule ON firings (schedule, position);
    CREATE INDEX firings_unfinished ON firings (position) WHERE ended_at IS NULL;

    CREATE INDEX events_by_schedule ON events (data ->> '$.schedule', seq) WHERE session IS NULL;
  `,
};
