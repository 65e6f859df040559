import type { Migration } from "../migrate.ts";

/**
 * Records deliveries before they start. An open turn of an earlier version has no record, so its prompt may have been
 * delivered.
 */
export const handOvers: Migration = {
  version: 14,
  sql: `
    ALTER TABLE turns ADD COLUMN handed_over TEXT NOT NULL DEFAULT '[]';
    UPDATE turns SET handed_over = json_array(json_object('turn', id, 'key', '', 'print', '', 'conversation',
      (SELECT sessions.resume FROM sessions WHERE sessions.id = turns.session)))
      WHERE ended_at IS NULL;
  `,
  // No database of an earlier version exists on PostgreSQL.
  postgres: "ALTER TABLE turns ADD COLUMN handed_over TEXT NOT NULL DEFAULT '[]'",
};
