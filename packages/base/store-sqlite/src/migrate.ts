/**
 * Migrates a database to the current schema. All steps are one transaction: a new database has over twenty of them, and
 * each commit waits for the disk.
 */
import type { Connection } from "./connection.ts";

export type Migration = {
  version: number;
  sql: string;
  /** The text for PostgreSQL, where it cannot be translated from `sql` (store/postgres/schema.ts). */
  postgres?: string;
};

/** Identifies the file as ours, in SQLite's application id field: "AEGI". */
export const applicationId = 0x41454749;

export function newestVersion(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.version ?? 0;
}

export function schemaVersion(connection: Connection): number {
  return connection.get<{ user_version: number }>("PRAGMA user_version")?.user_version ?? 0;
}

export function migrate(connection: Connection, migrations: readonly Migration[]): void {
  const before = schemaVersion(connection);
  const steps = migrations.filter(({ version }) => version > before);
  if (steps.length === 0) return;
  connection.exec("BEGIN IMMEDIATE");
  try {
    for (const { version, sql } of steps)
      connection.exec(`${sql}; PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version}`);
    connection.exec("COMMIT");
  } catch (error) {
    if (connection.inTransaction) connection.exec("ROLLBACK");
    throw error;
  }
  // The next start reads the version from the file header before it opens the write-ahead log.
  connection.exec("PRAGMA wal_checkpoint(TRUNCATE)");
}
