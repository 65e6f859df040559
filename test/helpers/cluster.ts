/**
 * Puts projects of tests on PostgreSQL. `AEGIS_TEST_STORE=postgres` does so for every project of the behaviour tests;
 * the server is then started once for all files (`global-setup.ts`). Each project has its own schema.
 */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { resolveConfig } from "@aegis/project/config/config.ts";
import { configSchema } from "@aegis/project/config/schema.ts";
import { agreeTo } from "@aegis/project/trust/agree.ts";
import { settingItems } from "@aegis/project/trust/setting-items.ts";
import { parse, stringify } from "yaml";
import { installations } from "./postgres.ts";
import type { ProjectFiles } from "./project-folder.ts";

/** The variable that names the database to a project's daemon. */
export const databaseVariable = "AEGIS_DATABASE_URL";

/** Where the global setup leaves the address of the server that all files share. */
export const sharedDatabaseVariable = "AEGIS_TEST_POSTGRES";

export const testsUsePostgres = process.env.AEGIS_TEST_STORE === "postgres";

/** The reason to skip tests that start PostgreSQL themselves, or null. */
export const noPostgres = installations[18].missing;

export function newProjectName(): string {
  return `t_${randomBytes(6).toString("hex")}`;
}

export type ClusterSection = Readonly<Record<string, unknown>>;

/** The file that puts a project on PostgreSQL, beside its other files. */
export function clusterFile(project: string, more: ClusterSection = {}): ProjectFiles {
  const database = `\${${databaseVariable}}`;
  return { ".aegis.local.yaml": stringify({ cluster: { database, project, ...more } }) };
}

/** What each project of a behaviour test gets besides its own files. */
export function storeFiles(files: ProjectFiles): ProjectFiles {
  if (!testsUsePostgres || ".aegis.local.yaml" in files) return {};
  return clusterFile(newProjectName());
}

/** Agrees to the database of a project whose other files stay untrusted: no daemon starts without it. */
export async function agreeToStore(root: string, home: string): Promise<void> {
  if (!testsUsePostgres) return;
  const text = await readFile(join(root, ".aegis.local.yaml"), "utf8");
  const config = resolveConfig(configSchema.parse(parse(text)), new Map());
  const items = settingItems(root, config).map(({ item }) => item);
  await agreeTo({ root, env: { HOME: home }, harnesses: [] }, items);
}

/** The cell that tables have on a cluster only, as a part of a regular expression. */
export const nodeCell = testsUsePostgres ? " +\\S+" : "";

/** The environment of programs that use a project of a behaviour test. */
export function storeEnv(): Record<string, string> {
  const url = process.env[sharedDatabaseVariable];
  return testsUsePostgres && url !== undefined ? { [databaseVariable]: url } : {};
}
