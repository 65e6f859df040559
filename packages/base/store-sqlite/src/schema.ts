/** Checks that a database has exactly the tables and indexes that this version creates, and nothing else. */
import { Connection } from "./connection.ts";
import { migrate, newestVersion, schemaVersion } from "./migrate.ts";
import { migrations } from "./migrations/list.ts";

/**
 * Returns the difference, or null. A foreign trigger or view would run with our statements and could change what they
 * return.
 */
export function schemaDifference(connection: Connection): string | null {
  const version = schemaVersion(connection);
  if (version < 1 || version > newestVersion(migrations)) return `it has schema version ${version}`;
  const expected = expectedSchema(version);
  const found = new Set(objectsOf(connection));
  const extra = [...found].find((object) => !expected.has(object));
  if (extra !== undefined) return `it has an unexpected ${nameOf(extra)}`;
  const missing = [...expected].find((object) => !found.has(object));
  return missing === undefined ? null : `it lacks the ${nameOf(missing)}`;
}

function expectedSchema(version: number): Set<string> {
  const model = new Connection(":memory:");
  try {
    migrate(
      model,
      migrations.filter((migration) => migration.version <= version),
    );
    return new Set(objectsOf(model));
  } finally {
    model.close();
  }
}

function objectsOf(connection: Connection): string[] {
  const text = "SELECT json_array(type, name, tbl_name, sql) AS object FROM sqlite_schema";
  return connection.all<{ object: string }>(text).map((row) => row.object);
}

function nameOf(object: string): string {
  const [type, name] = JSON.parse(object) as [string, string];
  return `${type} ${JSON.stringify(name)}`;
}
