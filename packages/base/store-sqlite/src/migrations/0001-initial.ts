import type { Migration } from "../migrate.ts";

export const initial: Migration = {
  version: 1,
  sql: `
    CREATE TABLE sessions (
      position INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      handle TEXT NOT NULL,
      agent TEXT NOT NULL,
      harness TEXT NOT NULL,
      offline INTEGER NOT NULL,
      title TEXT NOT NULL,
      title_source TEXT,
      state TEXT NOT NULL,
      error TEXT,
      parent TEXT REFERENCES sessions (id),
      created_at INTEGER NOT NULL,
      closed_at INTEGER,
      resume TEXT
    ) STRICT;
    CREATE UNIQUE INDEX sessions_live_handle ON sessions (handle) WHERE closed_at IS NULL;

    CREATE TABLE messages (
      position INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      session TEXT NOT NULL REFERENCES sessions (id),
      status TEXT NOT NULL,
      turn TEXT,
      chain TEXT NOT NULL,
      hops INTEGER NOT NULL,
      admitted_at INTEGER NOT NULL,
      sender TEXT NOT NULL,
      body TEXT NOT NULL
    ) STRICT;
    CREATE INDEX messages_by_session ON messages (session);
    CREATE INDEX messages_pending ON messages (session) WHERE status = 'pending';
    CREATE INDEX messages_by_turn ON messages (turn) WHERE turn IS NOT NULL;

    CREATE TABLE turns (
      position INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      session TEXT NOT NULL REFERENCES sessions (id),
      started_at INTEGER NOT NULL,
      accepted INTEGER NOT NULL,
      ended_at INTEGER,
      ended_seq INTEGER,
      reason TEXT,
      error TEXT,
      usage TEXT,
      text TEXT NOT NULL
    ) STRICT;
    CREATE INDEX turns_by_session ON turns (session);
    CREATE INDEX turns_ended ON turns (session, ended_seq) WHERE ended_seq IS NOT NULL;
    CREATE INDEX turns_open ON turns (position) WHERE ended_at IS NULL;

    CREATE TABLE events (
      seq INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      type TEXT NOT NULL,
      session TEXT,
      data TEXT NOT NULL
    ) STRICT;
    CREATE INDEX events_by_session ON events (session, seq, type) WHERE session IS NOT NULL;

    CREATE TABLE seen (
      client TEXT NOT NULL,
      session TEXT NOT NULL REFERENCES sessions (id),
      seq INTEGER NOT NULL,
      PRIMARY KEY (client, session)
    ) STRICT, WITHOUT ROWID;
  `,
};
