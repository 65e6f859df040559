import type { Migration } from "../migrate.ts";

/**
 * What channels received and what they still have to send. `channel_cursors` holds positions: of a channel in its
 * service, and of a channel in the event log.
 */
export const channels: Migration = {
  version: 19,
  sql: `
    CREATE TABLE channel_cursors (
      name TEXT PRIMARY KEY,
      position TEXT NOT NULL,
      at INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE channel_inbox (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      channel TEXT NOT NULL,
      key TEXT NOT NULL,
      payload TEXT NOT NULL,
      state TEXT NOT NULL,
      attempts INTEGER NOT NULL,
      error TEXT,
      at INTEGER NOT NULL,
      UNIQUE (channel, key)
    ) STRICT;
    CREATE INDEX channel_inbox_waiting ON channel_inbox (channel, id) WHERE state = 'waiting';
    CREATE TABLE channel_outbox (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      channel TEXT NOT NULL,
      key TEXT NOT NULL,
      place TEXT NOT NULL,
      session TEXT,
      ask TEXT,
      kind TEXT NOT NULL,
      body TEXT NOT NULL,
      state TEXT NOT NULL,
      attempts INTEGER NOT NULL,
      not_before INTEGER NOT NULL,
      external_id TEXT,
      error TEXT,
      created_at INTEGER NOT NULL,
      settled_at INTEGER,
      UNIQUE (channel, key)
    ) STRICT;
    CREATE INDEX channel_outbox_waiting ON channel_outbox (channel, place, id)
      WHERE state IN ('waiting', 'sending');
    CREATE INDEX channel_outbox_external ON channel_outbox (channel, place, external_id)
      WHERE external_id IS NOT NULL;
  `,
};
