import type { Migration } from "../migrate.ts";

/**
 * The nodes of a cluster, which node works on a row, and requests of one node to another. In an embedded database the
 * tables are empty and the columns are null. `lease_until` is a time of the database's clock.
 */
export const nodes: Migration = {
  version: 23,
  sql: `
    ALTER TABLE sessions ADD COLUMN node TEXT;
    ALTER TABLE tasks ADD COLUMN node TEXT;
    ALTER TABLE firings ADD COLUMN node TEXT;
    ALTER TABLE events ADD COLUMN node TEXT;
    CREATE TABLE nodes (
      name TEXT NOT NULL PRIMARY KEY,
      incarnation INTEGER NOT NULL,
      holder TEXT NOT NULL,
      alive INTEGER NOT NULL,
      draining INTEGER NOT NULL,
      lease_until INTEGER NOT NULL,
      joined_at INTEGER NOT NULL,
      lost_at INTEGER,
      url TEXT,
      version TEXT NOT NULL,
      config_hash TEXT,
      labels TEXT NOT NULL,
      sessions_max INTEGER
    ) STRICT;
    CREATE TABLE commands (
      name TEXT NOT NULL PRIMARY KEY,
      node TEXT NOT NULL,
      what TEXT NOT NULL,
      args TEXT NOT NULL,
      deadline INTEGER NOT NULL,
      result TEXT
    ) STRICT;
    CREATE INDEX commands_open ON commands (node) WHERE result IS NULL;
  `,
};
