import type { Migration } from "../migrate.ts";

export const conversations: Migration = {
  version: 7,
  sql: `
    ALTER TABLE messages ADD COLUMN attachments TEXT NOT NULL DEFAULT '[]';
    ALTER TABLE sessions ADD COLUMN forked_from TEXT REFERENCES sessions (id);
    ALTER TABLE sessions ADD COLUMN fork_point TEXT;
  `,
};
