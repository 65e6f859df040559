import type { Migration } from "../migrate.ts";

export const queues: Migration = {
  version: 3,
  sql: `
    CREATE TABLE queues (
      name TEXT PRIMARY KEY,
      settings TEXT,
      paused INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE tasks (
      position INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      queue TEXT NOT NULL,
      status TEXT NOT NULL,
      producer TEXT,
      callback INTEGER NOT NULL,
      chain TEXT,
      hops INTEGER NOT NULL,
      attempts INTEGER NOT NULL,
      failures INTEGER NOT NULL,
      worker TEXT,
      enqueued_at INTEGER NOT NULL,
      not_before INTEGER,
      dispatched_at INTEGER,
      ended_at INTEGER,
      error TEXT,
      result TEXT,
      payload TEXT NOT NULL
    ) STRICT;
    CREATE INDEX tasks_by_queue ON tasks (queue, status);
    CREATE INDEX tasks_by_status ON tasks (status);
    CREATE INDEX tasks_by_producer ON tasks (producer) WHERE producer IS NOT NULL;

    CREATE TABLE attempts (
      task TEXT NOT NULL REFERENCES tasks (id),
      number INTEGER NOT NULL,
      queue TEXT NOT NULL,
      worker TEXT NOT NULL UNIQUE,
      started_at INTEGER NOT NULL,
      ended_at INTEGER,
      error TEXT,
      output_tokens INTEGER,
      cost REAL,
      PRIMARY KEY (task, number)
    ) STRICT;
    CREATE INDEX attempts_running ON attempts (queue) WHERE ended_at IS NULL;
    CREATE INDEX attempts_ended ON attempts (queue, ended_at) WHERE ended_at IS NOT NULL;

    CREATE INDEX events_by_queue ON events (data ->> '$.queue', seq) WHERE session IS NULL;
  `,
};
