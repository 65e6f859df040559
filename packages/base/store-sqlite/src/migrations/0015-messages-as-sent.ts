import type { Migration } from "../migrate.ts";

/**
 * Stores the original text of a message after hooks have seen it. In earlier versions, hooks saw every message before
 * it was stored.
 */
export const messagesAsSent: Migration = {
  version: 15,
  sql: `
    ALTER TABLE messages ADD COLUMN sent TEXT;
    UPDATE messages SET sent = body WHERE status = 'pending';
  `,
};
