/**
 * What the role of the URL may do in the schema of a project. Each check throws `unavailable` before anything is changed;
 * the error names the role that can help and the statement for it.
 */

import { AegisError } from "@aegis/contract/errors.ts";
import type { Client } from "pg";

/** For a schema that does not exist yet. */
export async function requireSchemaRights(client: Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ role: string; database: string; owner: string }>(
    `SELECT quote_ident(current_user) AS role, quote_ident(datname) AS database,
        quote_ident(pg_get_userbyid(datdba)) AS owner
      FROM pg_database WHERE datname = current_database() AND NOT has_database_privilege(oid, 'CREATE')`,
  );
  const [found] = rows;
  if (found === undefined) return;
  const { role, database, owner } = found;
  throw new AegisError(
    "unavailable",
    `the role ${role} may not create the schema ${schema} in the database ${database}`,
    {
      hint: `let the role ${owner}, which owns the database, run: GRANT CREATE ON DATABASE ${database} TO ${role}`,
    },
  );
}

/** For tables that are missing or of an older version. Only the owner of a table can change it. */
export async function requireMigrationRights(client: Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ role: string; owner: string; what: string }>(
    `SELECT quote_ident(current_user) AS role, quote_ident(pg_get_userbyid(owner)) AS owner, what FROM (
        SELECT relowner AS owner, 'tables' AS what FROM pg_class JOIN pg_namespace ON relnamespace = pg_namespace.oid
          WHERE nspname = $1 AND relkind = 'r' AND NOT pg_has_role(relowner, 'USAGE')
        UNION ALL
        SELECT nspowner, 'schema' FROM pg_namespace WHERE nspname = $1 AND NOT has_schema_privilege(oid, 'CREATE')
      ) AS owners ORDER BY what DESC LIMIT 1`,
    [schema],
  );
  const [found] = rows;
  if (found === undefined) return;
  const { role, owner, what } = found;
  throw new AegisError(
    "unavailable",
    `the role ${role} may not migrate the schema ${schema} to this version of Aegis`,
    {
      hint: `start the first node of this version with the role ${owner}, which owns the ${what}; later nodes can then use ${role}`,
    },
  );
}

/** For tables that another role may own. */
export async function requireRights(client: Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ role: string; usable: boolean; table: string | null }>(
    `SELECT quote_ident(current_user) AS role, has_schema_privilege(oid, 'USAGE') AS usable, (
        SELECT relname::text FROM pg_class WHERE relnamespace = pg_namespace.oid AND relkind = 'r' AND NOT (
          SELECT bool_and(has_table_privilege(pg_class.oid, needed))
          FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed)
        ORDER BY relname LIMIT 1) AS table
      FROM pg_namespace WHERE nspname = $1`,
    [schema],
  );
  const [found] = rows;
  if (found === undefined || (found.usable && found.table === null)) return;
  const { role, usable, table } = found;
  const what = usable ? `the table ${schema}.${table}` : `the schema ${schema}`;
  const grants = [
    ...(usable ? [] : [`GRANT USAGE ON SCHEMA ${schema} TO ${role}`]),
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`,
    `GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${role}`,
  ];
  throw new AegisError("unavailable", `the role ${role} may not use ${what}`, {
    hint: `let the owner of the tables run: ${grants.join("; ")}`,
  });
}
