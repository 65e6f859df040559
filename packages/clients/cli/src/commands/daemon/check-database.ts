/** The check of `aegis doctor` for the PostgreSQL server of a project with a cluster. */
import type { Status } from "@aegis/contract/api.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import { errorText } from "@aegis/lib/log.ts";
import { databaseWarnings, databaseWords } from "../../format/database.ts";
import type { CliContext } from "../../terminal/context.ts";
import type { Finding } from "./checks.ts";

/** Null for a project with an embedded database. `status` is null if no daemon answers. */
export async function checkDatabase(
  { root, env }: { root: string; env: CliContext["env"] },
  status: Status | null,
): Promise<Finding[] | null> {
  if (status !== null && status.store.database !== null) {
    const { schema, database } = status.store;
    return findings(`${databaseWords(database)}, schema version ${schema}, in use`, database);
  }
  const checkup = await import("@aegis/project/checkup.ts");
  try {
    const found = await checkup.checkDatabase(root, env);
    if (found === null) return null;
    const schema = found.schema === 0 ? "the project is not in it yet" : `schema version ${found.schema}`;
    return findings(`${databaseWords(found.database)}, ${schema}`, found.database);
  } catch (error) {
    return [{ level: "fail", detail: errorText(error), fix: (isAegisError(error) ? error.hint : null) ?? null }];
  }
}

function findings(detail: string, database: Parameters<typeof databaseWarnings>[0]): Finding[] {
  return [
    { level: "ok", detail, fix: null },
    ...databaseWarnings(database).map((warning): Finding => ({ level: "warn", ...warning })),
  ];
}
