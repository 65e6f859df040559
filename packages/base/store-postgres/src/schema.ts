/**
 * Creates and migrates the schema of a project. Migrations are those of SQLite, translated, with PostgreSQL's own text
 * where one cannot be; a test compares the columns of both.
 */

import { AegisError } from "@aegis/contract/errors.ts";
import { type Migration, newestVersion } from "@aegis/store-sqlite/migrate.ts";
import { migrations } from "@aegis/store-sqlite/migrations/list.ts";
import type { Client } from "pg";
import { requireMigrationRights, requireRights, requireSchemaRights } from "./rights.ts";

export const schemaVersion = newestVersion(migrations);

/**
 * The oldest schema whose code works with this schema. Nodes are upgraded one after another, so a release raises this
 * number at most to the schema of the release before it: its migrations only add what older code can ignore.
 */
const compatibleVersion = 20;

/** Columns that the shared SQL reads with `->>`. */
const jsonColumns = /\b(sender|usage|starter) TEXT\b/g;

/** Reading a key of a JSON text with an escaped NUL fails, so such a text is refused when it is written. */
const json = (column: string) => `${column} JSON CHECK (position('\\u0000' in ${column}::text) = 0)`;

/** What only PostgreSQL has. An index over a key of `data` would refuse texts with an escaped NUL. */
const own = `
  ALTER TABLE events ADD COLUMN queue TEXT, ADD COLUMN run TEXT, ADD COLUMN schedule TEXT;
  CREATE INDEX events_by_queue ON events (queue, seq) WHERE queue IS NOT NULL;
  CREATE INDEX events_by_run ON events (run, seq) WHERE run IS NOT NULL;
  CREATE INDEX events_by_schedule ON events (schedule, seq) WHERE schedule IS NOT NULL;
`;

type Version = { version: number; compatible: number };
const current = [schemaVersion, compatibleVersion] as const;

/** Creates what is missing. Two nodes that start together do it one after another. */
export async function prepareSchema(client: Client, schema: string): Promise<void> {
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", [schema]);
    await prepareTables(client, schema);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** The same inside a transaction that holds the lock of the migrations. */
export async function prepareTables(client: Client, schema: string): Promise<void> {
  const known = await client.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]);
  if (known.rowCount === 0) {
    await requireSchemaRights(client, schema);
    await client.query(`CREATE SCHEMA ${schema}`);
  }
  const before = await readVersion(client, schema);
  refuseNewer(schema, before);
  const steps = migrations.filter(({ version }) => version > before.version).map(postgresText);
  if (before.version === 0)
    steps.push("CREATE TABLE aegis_schema (version BIGINT NOT NULL, compatible BIGINT NOT NULL)", own);
  if (steps.length > 0) {
    await requireMigrationRights(client, schema);
    await client.query(steps.join(";\n"));
  }
  // Also written without a change: a full disk or a missing right is noticed now.
  const [version, compatible] = before.version > schemaVersion ? [before.version, before.compatible] : current;
  await client.query(
    before.version === 0
      ? "INSERT INTO aegis_schema (version, compatible) VALUES ($1, $2)"
      : "UPDATE aegis_schema SET version = $1, compatible = $2",
    [version, compatible],
  );
}

/** Returns 0 for a schema without our tables. A schema with other tables, or that the role may not use, is refused. */
export async function readVersion(client: Client, schema: string): Promise<Version> {
  const { rows } = await client.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = $1",
    [schema],
  );
  if (rows.length === 0) return { version: 0, compatible: 0 };
  if (!rows.some(({ name }) => name === "aegis_schema"))
    throw new AegisError("unavailable", `the schema ${schema} holds tables of another program`, {
      hint: "give Aegis another database; nothing was changed",
    });
  await requireRights(client, schema);
  const found = await client.query<Version>("SELECT version, compatible FROM aegis_schema");
  const [version] = found.rows;
  if (version === undefined)
    throw new AegisError("unavailable", `the schema ${schema} is damaged: its table aegis_schema holds no version`, {
      hint: "restore the schema from a backup; nothing was changed",
    });
  return version;
}

/** Throws `unavailable` if code of this version does not work with the schema. */
export function refuseNewer(schema: string, { version, compatible }: Version): void {
  if (compatible <= schemaVersion) return;
  throw new AegisError(
    "unavailable",
    `the schema ${schema} was written by a newer Aegis (schema ${version}, this one knows ${schemaVersion})`,
    { hint: "start the newer Aegis; nothing was changed" },
  );
}

export function postgresText({ sql, postgres }: Migration): string {
  return postgres ?? translateDefinition(sql);
}

function translateDefinition(sql: string): string {
  return (
    sql
      .replace(/CREATE INDEX events_by_(queue|run|schedule) ON events[^;]*;/g, "")
      .replace(/DROP INDEX events_by_(queue|run|schedule);/g, "")
      // An index over an expression needs its own parentheses.
      .replace(/\(((?:\w+) ->> '\$\.\w+')\)/g, "(($1))")
      .replace(/'\$\.(\w+)'/g, "'$1'")
      .replace(jsonColumns, (_, column: string) => json(column))
      .replace(/\bTEXT\b/g, 'TEXT COLLATE "C"')
      .replace(
        /\b(position|id) INTEGER PRIMARY KEY( AUTOINCREMENT)?/g,
        "$1 BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
      )
      .replace(/\bINTEGER\b/g, "BIGINT")
      .replace(/\bREAL\b/g, "DOUBLE PRECISION")
      .replace(/\) STRICT(, WITHOUT ROWID)?/g, ")")
  );
}
