import type { Migration } from "../migrate.ts";

/**
 * Who may use a channel, which session a place of a channel talks to, and where the answers of a session go. A place is
 * a chat, or a topic of a chat.
 */
export const channelPlaces: Migration = {
  version: 20,
  sql: `
    CREATE TABLE channel_peers (
      channel TEXT NOT NULL,
      peer TEXT NOT NULL,
      name TEXT NOT NULL,
      place TEXT NOT NULL,
      paired_at INTEGER NOT NULL,
      PRIMARY KEY (channel, peer)
    ) STRICT;
    CREATE TABLE channel_places (
      channel TEXT NOT NULL,
      place TEXT NOT NULL,
      session TEXT NOT NULL,
      PRIMARY KEY (channel, place)
    ) STRICT;
    CREATE TABLE channel_routes (
      channel TEXT NOT NULL,
      session TEXT NOT NULL,
      place TEXT NOT NULL,
      PRIMARY KEY (channel, session, place)
    ) STRICT;
  `,
};
