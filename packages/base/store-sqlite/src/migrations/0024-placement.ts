import type { Migration } from "../migrate.ts";

/**
 * `sessions.nodes`: the labels that the node of a session must have, as JSON; null for none. `blobs`: files that the
 * nodes of a cluster share, as Base64; an embedded database has none.
 */
export const placement: Migration = {
  version: 24,
  sql: `
    ALTER TABLE sessions ADD COLUMN nodes TEXT;
    CREATE TABLE blobs (
      sha256 TEXT NOT NULL PRIMARY KEY,
      data TEXT NOT NULL,
      created_at INTEGER NOT NULL
    ) STRICT;
  `,
};
