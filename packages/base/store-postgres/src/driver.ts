/** Loads the PostgreSQL driver, an optional package, and configures its connections. */

import { AegisError } from "@aegis/contract/errors.ts";
import type pg from "pg";
import { decodeText } from "./text.ts";

export type PgDriver = typeof pg;

export async function loadDriver(): Promise<PgDriver> {
  try {
    return (await import("pg")).default;
  } catch (error) {
    throw new AegisError("unavailable", 'the package "pg" is not installed', {
      hint: "a project with a cluster needs it; install it beside aegis: npm install pg",
      cause: error,
    });
  }
}

const connectTimeoutMs = 5_000;

/** Names the project in `pg_stat_activity`. PostgreSQL keeps 63 characters of it. */
export function applicationName(schema: string): string {
  return `aegis ${schema}`.slice(0, 63);
}

/** Without the address of the server. */
export function connectionOptions(driver: PgDriver, schema: string): pg.ClientConfig {
  return {
    application_name: applicationName(schema),
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    types: parsersOf(driver),
  };
}

/** What an earlier connection of a node left, if a pooler in session mode gives it to this one as it was. */
const cleared = `DEALLOCATE ALL; UNLISTEN *; RESET lock_timeout; RESET statement_timeout;
  RESET idle_in_transaction_session_timeout`;

/**
 * What every connection starts with. These are statements and not start-up options, which a connection pooler between
 * Aegis and the server may drop.
 */
export function sessionSettings(schema: string): string {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw new AegisError("invalid", `"${schema}" is not a schema name: expected lower-case letters, digits and _`);
  return `${cleared}; SET search_path = ${schema}; SET default_transaction_isolation = 'read committed'`;
}

/** Object ids of built-in types. */
const oid = { bigint: 20, text: 25, json: 114, numeric: 1700 } as const;

/** Numbers of Aegis fit into a double. JSON stays text: the tables parse it. */
function parsersOf(driver: PgDriver): pg.CustomTypesConfig {
  const own = new Map<number, (value: string) => unknown>([
    [oid.bigint, Number],
    [oid.numeric, Number],
    [oid.text, decodeText],
    [oid.json, (value) => value],
  ]);
  return {
    getTypeParser: ((id: number, format: "text" | "binary") =>
      own.get(id) ?? driver.types.getTypeParser(id, format)) as pg.CustomTypesConfig["getTypeParser"],
  };
}
