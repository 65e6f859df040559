import type { Migration } from "../migrate.ts";

export const groups: Migration = {
  version: 4,
  sql: `
    CREATE TABLE groups (
      position INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      name TEXT NOT NULL,
      reducer TEXT,
      timeout REAL,
      created_at INTEGER NOT NULL,
      dissolved_at INTEGER
    ) STRICT;
    CREATE INDEX groups_by_name ON groups (name);
    CREATE UNIQUE INDEX groups_live_name ON groups (name) WHERE dissolved_at IS NULL;

    CREATE TABLE group_members (
      position INTEGER PRIMARY KEY,
      "group" TEXT NOT NULL REFERENCES groups (id),
      session TEXT NOT NULL UNIQUE REFERENCES sessions (id)
    ) STRICT;
    CREATE INDEX group_members_by_group ON group_members ("group");

    CREATE TABLE broadcasts (
      position INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      "group" TEXT NOT NULL REFERENCES groups (id),
      sender TEXT NOT NULL,
      objective TEXT NOT NULL,
      output_format TEXT NOT NULL,
      tool_guidance TEXT NOT NULL,
      boundaries TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      settled_at INTEGER
    ) STRICT;
    CREATE INDEX broadcasts_by_group ON broadcasts ("group");
    CREATE UNIQUE INDEX broadcasts_open ON broadcasts ("group") WHERE settled_at IS NULL;

    CREATE TABLE broadcast_members (
      position INTEGER PRIMARY KEY,
      broadcast TEXT NOT NULL REFERENCES broadcasts (id),
      session TEXT NOT NULL REFERENCES sessions (id),
      handle TEXT NOT NULL,
      message TEXT NOT NULL REFERENCES messages (id),
      status TEXT NOT NULL,
      turn TEXT,
      error TEXT,
      arrival INTEGER,
      UNIQUE (broadcast, session)
    ) STRICT;
    CREATE INDEX broadcast_members_waiting ON broadcast_members (session) WHERE status = 'waiting';
    CREATE INDEX broadcast_members_let_off ON broadcast_members (message) WHERE status = 'cancelled';
  `,
};
