import type { Migration } from "../migrate.ts";

export const runs: Migration = {
  version: 5,
  sql: `
    CREATE TABLE runs (
      position INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      workflow TEXT NOT NULL,
      status TEXT NOT NULL,
      host TEXT,
      callback INTEGER NOT NULL,
      chain TEXT,
      hops INTEGER NOT NULL,
      code TEXT NOT NULL,
      epoch INTEGER NOT NULL,
      phase TEXT,
      resumes INTEGER NOT NULL,
      retries INTEGER NOT NULL,
      forked_from TEXT,
      owner TEXT,
      lease_until INTEGER,
      created_at INTEGER NOT NULL,
      resumed_at INTEGER,
      ended_at INTEGER,
      parked TEXT,
      error TEXT,
      args TEXT NOT NULL,
      result TEXT
    ) STRICT;
    CREATE INDEX runs_unfinished ON runs (position) WHERE ended_at IS NULL;
    CREATE INDEX runs_by_status ON runs (status);
    CREATE INDEX runs_by_workflow ON runs (workflow);

    CREATE TABLE steps (
      position INTEGER PRIMARY KEY,
      run TEXT NOT NULL REFERENCES runs (id),
      epoch INTEGER NOT NULL,
      scope TEXT NOT NULL,
      key TEXT NOT NULL,
      occurrence INTEGER NOT NULL,
      method TEXT NOT NULL,
      label TEXT NOT NULL,
      status TEXT NOT NULL,
      ended INTEGER,
      session TEXT,
      started_at INTEGER NOT NULL,
      ended_at INTEGER,
      error TEXT,
      begun TEXT,
      failure TEXT,
      result TEXT
    ) STRICT;
    CREATE UNIQUE INDEX steps_by_name ON steps (run, epoch, scope, key, occurrence);
    CREATE UNIQUE INDEX steps_by_end ON steps (run, ended) WHERE ended IS NOT NULL;
    CREATE INDEX steps_by_session ON steps (session) WHERE session IS NOT NULL;

    CREATE TABLE signals (
      position INTEGER PRIMARY KEY,
      run TEXT NOT NULL REFERENCES runs (id),
      key TEXT NOT NULL,
      name TEXT NOT NULL,
      taken INTEGER NOT NULL,
      value TEXT NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX signals_by_key ON signals (run, key);

    CREATE INDEX events_by_run ON events (data ->> '$.run', seq) WHERE session IS NULL;
  `,
};
