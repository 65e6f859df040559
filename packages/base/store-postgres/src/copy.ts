/**
 * Copies a project into a new schema and out of one. The schema, its rows and the mark of the copy are one transaction,
 * so that a copy is complete or absent.
 */

import { AegisError } from "@aegis/contract/errors.ts";
import type { RawTable } from "@aegis/store/copy-rows.ts";
import type { Client } from "pg";
import { applicationName } from "./driver.ts";
import { PostgresRows } from "./raw.ts";
import { prepareTables, readVersion, schemaVersion } from "./schema.ts";
import { readFacts, refuseUnusable } from "./server.ts";
import type { Place } from "./url.ts";
import { withClient } from "./with-client.ts";

export type CopyPlace = {
  /** Names the server for people. */
  where: string;
  /** 0 if the schema does not exist. */
  version: number;
  /** What `intoPostgres` wrote when it made the schema; null for a schema that it did not make. */
  mark: string | null;
  events: number;
  sessions: number;
};

/** Reads what is in the schema. Throws if the server cannot be used, or a node of this project is connected to it. */
export function lookAtPlace(place: Place): Promise<CopyPlace> {
  return withClient(place, async (client, connections) => {
    refuseUnusable(await readFacts(client, () => Date.now()), connections.where);
    await refuseRunningNodes(client, place.schema);
    const { version } = await readVersion(client, place.schema);
    const seen = { where: connections.where, version };
    if (version === 0) return { ...seen, mark: null, events: 0, sessions: 0 };
    const text = `SELECT obj_description($1::regnamespace, 'pg_namespace') AS mark,
      (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM sessions) AS sessions`;
    const { rows } = await client.query<Omit<CopyPlace, "where" | "version">>(text, [place.schema]);
    return { ...seen, ...(rows[0] ?? { mark: null, events: 0, sessions: 0 }) };
  });
}

/** Creates the schema with what `fill` inserts. Throws `conflict` if it exists. */
export function intoPostgres<T>(
  place: Place,
  tables: readonly RawTable[],
  mark: string,
  fill: (target: PostgresRows) => Promise<T>,
): Promise<T> {
  return inTransaction(place, "READ COMMITTED", async (client) => {
    const { version } = await readVersion(client, place.schema);
    if (version !== 0) throw new AegisError("conflict", `the schema ${place.schema} exists already`);
    await prepareTables(client, place.schema);
    const references = await deferReferences(client, place.schema);
    const result = await fill(new PostgresRows(client, tables));
    await client.query("SET CONSTRAINTS ALL IMMEDIATE");
    for (const { table, name } of references)
      await client.query(`ALTER TABLE "${table}" ALTER CONSTRAINT "${name}" NOT DEFERRABLE`);
    await continueIdentities(client, place.schema);
    await client.query(`COMMENT ON SCHEMA ${place.schema} IS '${mark.replaceAll("'", "''")}'`);
    return result;
  });
}

export function outOfPostgres<T>(
  place: Place,
  tables: readonly RawTable[],
  read: (source: PostgresRows) => Promise<T>,
): Promise<T> {
  return inTransaction(place, "REPEATABLE READ", async (client) => {
    const { version } = await readVersion(client, place.schema);
    if (version !== schemaVersion)
      throw new AegisError("conflict", `the schema ${place.schema} has version ${version}, not ${schemaVersion}`, {
        hint: "start the newest Aegis on it once, then copy with that one",
      });
    return read(new PostgresRows(client, tables));
  });
}

/** Renames the schema, so that no node uses its content any more. Returns the new name. */
export function setSchemaAside(place: Place, stamp: string): Promise<string> {
  return inTransaction(place, "READ COMMITTED", async (client) => {
    const name = `${place.schema.slice(0, 40)}_moved_${stamp}`;
    await client.query(`ALTER SCHEMA ${place.schema} RENAME TO ${name}`);
    return name;
  });
}

async function inTransaction<T>(
  place: Place,
  isolation: "READ COMMITTED" | "REPEATABLE READ",
  work: (client: Client) => Promise<T>,
): Promise<T> {
  return withClient(place, async (client) => {
    await client.query(`BEGIN ISOLATION LEVEL ${isolation}`);
    // The lock of the writers, and the one of the migrations.
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [place.schema]);
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", [place.schema]);
    await refuseRunningNodes(client, place.schema);
    const result = await work(client);
    await client.query("COMMIT");
    return result;
  });
}

/**
 * Every node has a connection that listens as long as it runs. The server hides the statements of other roles, so each
 * of their connections counts.
 */
async function refuseRunningNodes(client: Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ count: number }>(
    `SELECT count(*) AS count FROM pg_stat_activity
      WHERE application_name = $1 AND datname = current_database() AND (query LIKE 'LISTEN %' OR query = '<insufficient privilege>')`,
    [applicationName(schema)],
  );
  if ((rows[0]?.count ?? 0) > 0)
    throw new AegisError("conflict", `a node of this project is running on the schema ${schema}`, {
      hint: "stop every node with: aegis down",
    });
}

async function deferReferences(client: Client, schema: string): Promise<{ table: string; name: string }[]> {
  const { rows } = await client.query<{ table: string; name: string }>(
    `SELECT relname::text AS table, conname::text AS name FROM pg_constraint
      JOIN pg_class ON pg_class.oid = conrelid WHERE contype = 'f' AND connamespace = $1::regnamespace`,
    [schema],
  );
  for (const { table, name } of rows)
    await client.query(`ALTER TABLE "${table}" ALTER CONSTRAINT "${name}" DEFERRABLE INITIALLY IMMEDIATE`);
  await client.query("SET CONSTRAINTS ALL DEFERRED");
  return rows;
}

/** New rows get numbers after those that were copied. */
async function continueIdentities(client: Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ table: string; column: string }>(
    `SELECT table_name::text AS table, column_name::text AS column FROM information_schema.columns
      WHERE table_schema = $1 AND is_identity = 'YES'`,
    [schema],
  );
  for (const { table, column } of rows)
    await client.query(
      `SELECT setval(pg_get_serial_sequence('"${table}"', '${column}'), max("${column}")) FROM "${table}"
        HAVING max("${column}") IS NOT NULL`,
    );
}
