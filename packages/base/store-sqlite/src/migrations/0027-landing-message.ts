import type { Migration } from "../migrate.ts";

/** `landings.message`: the message that a person gave the landed commit; null if it comes from the work. */
export const landingMessage: Migration = {
  version: 27,
  sql: "ALTER TABLE landings ADD COLUMN message TEXT",
};
