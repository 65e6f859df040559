/** Reads what a project has stored, past the store: in its database file, or in its schema on PostgreSQL. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Client } from "pg";
import { parse } from "yaml";
import { sharedDatabaseVariable, testsUsePostgres } from "./cluster.ts";

/** One column of a table whose rows have a position, in that order. */
export async function storedColumn(root: string, table: "messages" | "asks", column: string): Promise<unknown[]> {
  if (!testsUsePostgres) {
    using db = new DatabaseSync(join(root, ".aegis/state/aegis.db"), { readOnly: true });
    return db
      .prepare(`SELECT ${column} FROM ${table} ORDER BY position`)
      .all()
      .map((row) => row[column]);
  }
  return inSchema(root, async (client) => {
    const { rows } = await client.query(`SELECT ${column} FROM ${table} ORDER BY position`);
    return rows.map((row) => row[column]);
  });
}

/** All files of the project's state, and all rows of its schema if it has one, as text. */
export async function everythingStored(root: string): Promise<string> {
  const entries = await readdir(join(root, ".aegis/state"), { recursive: true, withFileTypes: true });
  const texts = entries
    .filter((entry) => entry.isFile())
    .map((entry) => readFile(join(entry.parentPath, entry.name), "latin1").catch(() => ""));
  return [...(await Promise.all(texts)), ...(testsUsePostgres ? await inSchema(root, allRows) : [])].join("\n");
}

async function allRows(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()",
  );
  const texts: string[] = [];
  for (const { name } of rows) texts.push(...(await client.query(`SELECT * FROM "${name}"`)).rows.map(textOf));
  return texts;
}

function textOf(row: Record<string, unknown>): string {
  return Object.values(row)
    .map((value) => (typeof value === "object" ? JSON.stringify(value) : String(value)))
    .join("\n");
}

async function inSchema<T>(root: string, read: (client: Client) => Promise<T>): Promise<T> {
  const { cluster } = parse(await readFile(join(root, ".aegis.local.yaml"), "utf8"));
  const client = new Client(process.env[sharedDatabaseVariable] ?? "");
  await client.connect();
  try {
    await client.query(`SET search_path = aegis_${cluster.project}`);
    return await read(client);
  } finally {
    await client.end();
  }
}
