/** Brings a database to the schema this Aegis knows, one numbered step per transaction. */
import type { Connection } from "./connection.ts";

export type Migration = { version: number; sql: string };

/** Marks the file as ours, in the header field SQLite keeps for that: "AEGI". */
export const applicationId = 0x41454749;

export function newestVersion(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.version ?? 0;
}

export function schemaVersion(connection: Connection): number {
  return connection.get<{ user_version: number }>("PRAGMA user_version")?.user_version ?? 0;
}

export function migrate(connection: Connection, migrations: readonly Migration[]): void {
  const before = schemaVersion(connection);
  for (const { version, sql } of migrations) {
    if (version <= before) continue;
    connection.exec("BEGIN IMMEDIATE");
    try {
      connection.exec(`${sql}; PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${version}`);
      connection.exec("COMMIT");
    } catch (error) {
      if (connection.inTransaction) connection.exec("ROLLBACK");
      throw error;
    }
  }
  // The next start reads the version from the file's header, before it opens the write-ahead log.
  if (schemaVersion(connection) !== before) connection.exec("PRAGMA wal_checkpoint(TRUNCATE)");
}
