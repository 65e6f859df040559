/** The id of a database, and the creation of a new database with an id. */
import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { syncFolder } from "@aegis/lib/files.ts";
import { Connection } from "./connection.ts";
import { DamageError, storeError } from "./errors.ts";
import { sideFiles } from "./inspect.ts";
import { migrate } from "./migrate.ts";
import { migrations } from "./migrations/list.ts";

export type DatabaseOwner = {
  /** The id of a new database. */
  id: string;
  /** Called with a complete new database before it is renamed to its final path. */
  begun(file: string): Promise<void>;
};

/** Returns null if the database has no id or is damaged. Opens it read-only. */
export function readIdentity(path: string): string | null {
  try {
    const connection = new Connection(path, { readOnly: true });
    try {
      const known = connection.get("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'identity'");
      return known === undefined ? null : (connection.get<{ id: string }>("SELECT id FROM identity")?.id ?? null);
    } finally {
      connection.close();
    }
  } catch (error) {
    if (error instanceof DamageError) return null;
    throw error;
  }
}

/** Replaces the id. The caller ensures that no other process uses the database. */
export function writeIdentity(path: string, id: string): void {
  const connection = new Connection(path);
  try {
    migrate(connection, migrations);
    connection.exec("BEGIN IMMEDIATE; DELETE FROM identity");
    connection.run("INSERT INTO identity (id) VALUES (?)", id);
    connection.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  } finally {
    connection.close();
  }
}

/**
 * Creates the database under a temporary name, with what `fill` writes. A database at its final path is therefore
 * complete and has its id.
 */
export async function beginDatabase(
  path: string,
  owner: DatabaseOwner,
  fill?: (draft: string) => Promise<void>,
): Promise<void> {
  const draft = `${path}.new`;
  try {
    for (const suffix of ["", "-journal", ...sideFiles]) await rm(draft + suffix, { force: true });
    // SQLite gives its side files the mode of the database file.
    await (await open(draft, "wx", 0o600)).close();
    writeIdentity(draft, owner.id);
    await fill?.(draft);
    await owner.begun(draft);
    await rename(draft, path);
    await syncFolder(dirname(path));
  } catch (error) {
    throw storeError(error, path);
  }
}
