import type { Migration } from "../migrate.ts";

export const received: Migration = {
  version: 9,
  sql: "ALTER TABLE messages ADD COLUMN sent_as TEXT;",
};
